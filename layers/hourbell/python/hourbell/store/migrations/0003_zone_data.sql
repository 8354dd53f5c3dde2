-- Which time-zone data the hot table was planned with, and how far a re-planning after an update has come.

create table zone_data (
    only_row boolean constraint zone_data_pkey primary key default true constraint zone_data_one_row check (only_row),
    version text not null,
    -- jobs up to this id are planned with ``version``; null: all of them are
    replanned_through uuid,
    updated_at timestamptz not null
);

grant select, insert, update on zone_data to hourbell_scanner;
