-- Finds the oldest due rows of each shard that belong to none of these tenants, and locks none. It looks past at most
-- ``look_ahead`` rows a shard, in the order of the index: the cost is bounded, whatever is due, and nothing is sorted.
select found.job_id
from generate_series(%(first_shard)s::integer, %(last_shard)s::integer) as shard (id)
cross join lateral (
    select ahead.job_id
    from (
        select due.job_id, due.tenant_id
        from due
        where due.shard_id = shard.id and due.next_run_at <= %(until)s
        order by due.next_run_at
        limit %(look_ahead)s
    ) as ahead
    where ahead.tenant_id <> all(%(tenant_ids)s::uuid[])
    limit %(per_shard)s
) as found
