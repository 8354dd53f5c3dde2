-- Adds the changes up into the tenant's number of jobs and answers it, with its quota; nothing where there is none. Who
-- makes jobs does this last in the transaction, and the next one waits for its commit: nobody passes the quota unseen.
with limited as (
    select
        tenant.tenant_id,
        tenant.max_jobs
    from tenant
    where tenant.tenant_id = %(tenant_id)s and tenant.max_jobs is not null
),

changed as (
    delete from job_change
    using limited
    where job_change.tenant_id = limited.tenant_id
    returning job_change.jobs
),

counted as (
    insert into tenant_usage as known (tenant_id, jobs)
    select
        limited.tenant_id,
        coalesce((select sum(changed.jobs) from changed), 0)
    from limited
    on conflict (tenant_id) do update
        set jobs = known.jobs + excluded.jobs
    returning known.jobs
)

select
    counted.jobs,
    limited.max_jobs
from counted
cross join limited
