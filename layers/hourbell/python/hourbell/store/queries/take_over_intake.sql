-- Moves jobs from the intake to a segment that holds their records; those that left the intake meanwhile have a tombstone, and are not counted.
with moved as (
    delete from cold_intake
    where cold_intake.job_id = any(%(job_ids)s::uuid[]) and cold_intake.due_hour = %(due_hour)s
    returning cold_intake.tenant_id, cold_intake.target_id
),

counted as (
    select
        moved.tenant_id,
        moved.target_id,
        count(*) as jobs
    from moved
    group by moved.tenant_id, moved.target_id
),

content as (
    insert into cold_content (segment_id, tenant_id, target_id, due_hour, jobs)
    select %(segment_id)s, counted.tenant_id, counted.target_id, %(due_hour)s, counted.jobs
    from counted
)

select coalesce(sum(counted.jobs), 0)::integer as jobs
from counted
