-- One job of one tenant; another tenant's id finds nothing, as an id that does not exist.
select
    stored_job.state = 'completed'
    and exists (select 1 from run where run.job_id = stored_job.job_id and run.wake_at is not null) as unfinished,
    stored_job.*
from stored_job
where stored_job.job_id = %(job_id)s and stored_job.tenant_id = %(tenant_id)s and stored_job.state <> 'deleted'
