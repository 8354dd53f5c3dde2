-- In which states the newest of a tenant's jobs are; no more than the limit are looked at.
select
    latest.state,
    count(*) as jobs
from (
    select job.state
    from job
    where job.tenant_id = %(tenant_id)s and job.state <> 'deleted'
    order by job.job_id desc
    limit %(limit)s
) as latest
group by latest.state
