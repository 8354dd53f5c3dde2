-- Locks the next due rows, in id order, with their schedules; jobs of elapsed time know no zone and are left out by the caller.
select
    due.job_id,
    due.scheduled_for,
    job.schedule,
    job.window_ms,
    (
        select max(run.scheduled_for)
        from run
        where run.job_id = due.job_id and run.origin = 'schedule' and run.scheduled_for > %(now)s
    ) as planned_through
from due
inner join job on due.job_id = job.job_id
where due.job_id > %(after)s and job.state = 'active' and due.next_run_at < 'infinity'
order by due.job_id
limit %(limit)s
for update of due
