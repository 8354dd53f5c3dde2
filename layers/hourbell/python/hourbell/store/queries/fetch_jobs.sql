-- Several jobs of one tenant, in the order of their ids; ids that are not its own find nothing.
select
    stored_job.state = 'completed'
    and exists (select 1 from run where run.job_id = stored_job.job_id and run.wake_at is not null) as unfinished,
    stored_job.*
from stored_job
where stored_job.job_id = any(%(job_ids)s) and stored_job.tenant_id = %(tenant_id)s and stored_job.state <> 'deleted'
order by stored_job.job_id
