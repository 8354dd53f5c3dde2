-- Gives waiting runs the moments of a changed pace.
update run
set fire_at = moved.fire_at, next_attempt_at = moved.fire_at, wake_at = moved.fire_at + %(grace)s
from
    unnest(%(job_ids)s::uuid[], %(scheduled_for)s::timestamptz[], %(fire_at)s::timestamptz[])
        as moved (
            job_id, scheduled_for, fire_at
        )
where run.job_id = moved.job_id and run.scheduled_for = moved.scheduled_for
