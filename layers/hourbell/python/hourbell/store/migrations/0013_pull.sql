-- Targets whose workers fetch their runs themselves: what waits for them, oldest first, and since when.

alter table target drop constraint target_kind_check;
alter table target add constraint target_kind_check check (
    kind in ('http', 'lambda', 'sqs', 'sns', 'eventbridge', 'step_functions', 'pull')
);

-- Not validated: nothing that is there can break it, and reading every run would hold up their writers.
alter table run drop constraint run_lane_check;
alter table run add constraint run_lane_check check (lane in ('shared', 'solo', 'pull')) not valid;

create index run_pull_idx on run (target_id, fire_at, job_id) where lane = 'pull' and state in ('queued', 'retrying');
create index run_pull_age_idx on run (next_attempt_at) where lane = 'pull' and state in ('queued', 'retrying');

grant insert on attempt to hourbell_api;
