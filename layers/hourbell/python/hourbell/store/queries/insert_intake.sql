-- Accepts cold jobs; one that is there already, by a transaction whose commit was not heard of, stays as it is.
insert into cold_intake (job_id, due_hour, tenant_id, target_id, record, created_at)
select cold.job_id, cold.due_hour, %(tenant_id)s, cold.target_id, cold.record, %(now)s
from
    unnest(%(job_ids)s::uuid[], %(due_hours)s::integer[], %(target_ids)s::uuid[], %(records)s::text[])
        as cold (
            job_id, due_hour, target_id, record
        )
order by cold.job_id
on conflict (job_id) do nothing
