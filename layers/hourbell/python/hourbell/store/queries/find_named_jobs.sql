-- The jobs of the tenant that have these names, in either tier.
select job.name, job.job_id
from job
where job.tenant_id = %(tenant_id)s and job.name = any(%(names)s::text[]) and job.state <> 'deleted'
union all
select cold_name.name, cold_name.job_id
from cold_name
where cold_name.tenant_id = %(tenant_id)s and cold_name.name = any(%(names)s::text[])
