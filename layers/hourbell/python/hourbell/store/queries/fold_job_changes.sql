-- Adds changes up into their tenants' numbers of jobs; those that somebody else is adding up are left to them.
with taken as (
    delete from job_change
    where
        job_change.ctid = any(
            array(
                select waiting.ctid
                from job_change as waiting
                limit %(limit)s
                for update skip locked
            )
        )
    returning job_change.tenant_id, job_change.jobs
)

insert into tenant_usage as known (tenant_id, jobs)
select
    taken.tenant_id,
    sum(taken.jobs)
from taken
group by taken.tenant_id
order by taken.tenant_id
on conflict (tenant_id) do update
    set jobs = known.jobs + excluded.jobs
