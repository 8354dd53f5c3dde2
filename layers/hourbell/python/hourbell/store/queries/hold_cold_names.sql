-- Gives names to cold jobs; answers the jobs that have theirs now. A name that another cold job has is not given.
with held as (
    insert into cold_name (tenant_id, name, job_id)
    select %(tenant_id)s, wanted.name, wanted.job_id
    from unnest(%(names)s::text[], %(job_ids)s::uuid[]) as wanted (name, job_id)
    order by wanted.name
    on conflict do nothing
    returning cold_name.job_id
)

select held.job_id
from held
union
select cold_name.job_id
from cold_name
inner join unnest(%(names)s::text[], %(job_ids)s::uuid[]) as wanted (name, job_id)
    on cold_name.name = wanted.name and cold_name.job_id = wanted.job_id
where cold_name.tenant_id = %(tenant_id)s
