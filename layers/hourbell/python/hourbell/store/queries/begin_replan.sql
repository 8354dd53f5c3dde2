-- Takes up the re-planning for a version of the zone data: where it stopped, from the start for a new version, or not at all when it is done.
-- The row is locked: two re-plannings take turns.
insert into zone_data as present (version, replanned_through, updated_at)
values (%(version)s, %(start)s, %(now)s)
on conflict (only_row) do update
    set
        version = excluded.version,
        replanned_through = case
            when %(force)s or present.version <> excluded.version then excluded.replanned_through
            else present.replanned_through
        end,
        updated_at = excluded.updated_at
returning present.replanned_through
