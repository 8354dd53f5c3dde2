-- How many runs per lane should have started by now and still wait; counted up to a limit.
select
    overdue.lane,
    count(*) as runs
from (
    select run.lane
    from run
    where
        run.wake_at is not null
        and run.state in ('queued', 'retrying')
        and run.lane <> 'pull'
        and run.next_attempt_at <= %(before)s
        -- these wait without a message, by design
        and (run.reason is null or run.reason not in ('no_slot', 'buffered', 'target_paused'))
    limit %(limit)s
) as overdue
group by overdue.lane
