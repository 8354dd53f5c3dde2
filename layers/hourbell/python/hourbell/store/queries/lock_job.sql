-- Locks one job of one tenant against other edits until the transaction ends.
select job.version
from job
where job.job_id = %(job_id)s and job.tenant_id = %(tenant_id)s and job.state <> 'deleted'
for update
