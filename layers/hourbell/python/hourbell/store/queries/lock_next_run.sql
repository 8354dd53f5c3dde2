-- Locks the job's next planned run; one that a worker has just leased is passed over.
select run.scheduled_for
from run
where
    run.job_id = %(job_id)s and run.tenant_id = %(tenant_id)s and run.scheduled_for > %(after)s
    and run.origin = 'schedule' and run.state = 'queued' and run.attempt = 0 and not run.redriven
    and run.fire_at > %(now)s
order by run.scheduled_for
limit 1
for update
