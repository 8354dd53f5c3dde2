-- Locks the oldest due rows of each shard up to the horizon; a row that another claim holds is passed over, never waited for.
-- LATERAL reads each shard's index range in order: nothing is sorted, and the cost does not grow with what is not due.
with claimed as materialized (
    select oldest.*
    from generate_series(%(first_shard)s::integer, %(last_shard)s::integer) as shard (id)
    cross join lateral (
        select due.job_id, due.tenant_id, due.scheduled_for, due.next_run_at
        from due
        where due.shard_id = shard.id and due.next_run_at <= %(until)s
        order by due.next_run_at
        limit %(per_shard)s
        for update skip locked
    ) as oldest
)

select claimed.job_id, claimed.tenant_id, claimed.scheduled_for, claimed.next_run_at
from claimed
