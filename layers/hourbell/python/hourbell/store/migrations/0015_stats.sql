-- How long a tenant's most overdue job has been waiting to be planned. The hot table has no index by tenant, and gets
-- none for this: only the first overdue rows of each shard are looked at, whoever owns them. That is all of them, unless
-- planning is far behind.
create function oldest_due(at timestamptz, per_shard integer) returns timestamptz
language sql stable security definer set search_path from current
return (
    select min(overdue.next_run_at)
    from generate_series(0, 127) as shard (id)
    cross join
        lateral (
            select due.next_run_at, due.tenant_id
            from due
            where due.shard_id = shard.id and due.next_run_at <= $1
            order by due.next_run_at
            limit $2
        ) as overdue
    where overdue.tenant_id = current_tenant()
);
revoke execute on function oldest_due from public;
grant execute on function oldest_due to hourbell_api;
