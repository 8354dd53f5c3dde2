-- Lets one segment count jobs that another has counted until now; what left the intake before it was frozen is counted by none.
with moved as (
    select
        held.tenant_id,
        held.target_id,
        count(*) as jobs
    from unnest(%(job_ids)s::uuid[], %(tenant_ids)s::uuid[], %(target_ids)s::uuid[]) as held (job_id, tenant_id, target_id)
    where not exists (select 1 from cold_tombstone as gone where gone.job_id = held.job_id and not gone.frozen)
    group by held.tenant_id, held.target_id
),

taken as (
    select
        content.tenant_id,
        content.target_id,
        content.due_hour,
        content.jobs as counted,
        least(content.jobs, moved.jobs) as jobs
    from cold_content as content
    inner join moved on content.tenant_id = moved.tenant_id and content.target_id = moved.target_id
    where content.segment_id = %(from_segment)s
),

emptied as (
    delete from cold_content
    using taken
    where
        cold_content.segment_id = %(from_segment)s
        and cold_content.tenant_id = taken.tenant_id
        and cold_content.target_id = taken.target_id
        and taken.jobs = taken.counted
),

reduced as (
    update cold_content
    set jobs = taken.counted - taken.jobs
    from taken
    where
        cold_content.segment_id = %(from_segment)s
        and cold_content.tenant_id = taken.tenant_id
        and cold_content.target_id = taken.target_id
        and taken.jobs < taken.counted
)

insert into cold_content (segment_id, tenant_id, target_id, due_hour, jobs)
select
    %(to_segment)s,
    taken.tenant_id,
    taken.target_id,
    taken.due_hour,
    taken.jobs
from taken
