-- Counts a segment's jobs by tenant and target; the caller holds its bucket.
insert into cold_content (segment_id, tenant_id, target_id, due_hour, jobs)
select
    %(segment_id)s,
    held.tenant_id,
    held.target_id,
    %(due_hour)s,
    count(*)
from unnest(%(tenant_ids)s::uuid[], %(target_ids)s::uuid[]) as held (tenant_id, target_id)
group by held.tenant_id, held.target_id
