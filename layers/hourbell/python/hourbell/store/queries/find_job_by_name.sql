-- The id of the tenant's job of this name, which is unique among those that are not deleted.
select job.job_id
from job
where job.tenant_id = %(tenant_id)s and job.name = %(name)s and job.state <> 'deleted'
