-- Pacing: the theoretical arrival time of a target's next call (GCRA), moved by whoever plans runs.

alter table target add column tat timestamptz;
alter table target add constraint target_rate_check check (rate_per_second > 0);
alter table target add constraint target_burst_check check (burst >= 1);

grant update (tat) on target to hourbell_scanner;
