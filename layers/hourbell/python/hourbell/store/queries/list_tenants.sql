-- Tenants made before this one, newest first, with their quotas and the number of their jobs.
select
    tenant.tenant_id,
    tenant.name,
    tenant.max_jobs,
    tenant.max_runs_per_minute,
    tenant.max_requests_per_second,
    coalesce(tenant_usage.jobs, 0) + coalesce(
        (select sum(job_change.jobs) from job_change where job_change.tenant_id = tenant.tenant_id), 0
    )::bigint as jobs,
    tenant.version,
    tenant.created_at,
    tenant.updated_at
from tenant
left join tenant_usage on tenant.tenant_id = tenant_usage.tenant_id
where
    (%(tenant_id)s::uuid is null or tenant.tenant_id = %(tenant_id)s)
    and (%(name)s::text is null or tenant.name = %(name)s)
    and (%(before_id)s::uuid is null or tenant.tenant_id < %(before_id)s)
order by tenant.tenant_id desc
limit %(limit)s
