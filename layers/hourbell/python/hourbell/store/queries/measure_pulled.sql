-- How many runs wait for workers that fetch them, counted up to a limit, and how long the oldest has waited.
with waiting as (
    select run.next_attempt_at
    from run
    where run.lane = 'pull' and run.state in ('queued', 'retrying') and run.next_attempt_at <= clock_timestamp()
    order by run.next_attempt_at
    limit %(limit)s
)

select
    count(*) as runs,
    coalesce(extract(epoch from clock_timestamp() - min(waiting.next_attempt_at)), 0)::double precision as oldest_seconds
from waiting
