-- When a scanner last took or renewed the lease of a shard range: a lease that was released says nothing of it.
alter table shard_lease add column renewed_at timestamptz;

-- How the deployment stands, for whoever runs it: the API's role sees no table that is not a tenant's. The clock, the
-- latest migration, the last day with partitions of its own, and when each shard range was last scanned.
create function inspect_deployment() returns jsonb
language sql volatile security definer set search_path from current
return (
    select
        jsonb_build_object(
            'at', clock_timestamp(),
            'migration', (select max(schema_migration.number) from schema_migration),
            'partitions_through', (
                select max(to_date(right(child.relname, 8), 'YYYYMMDD'))
                from pg_inherits
                inner join pg_class as child on pg_inherits.inhrelid = child.oid
                where pg_inherits.inhparent = 'run'::regclass and child.relname ~ '^run_[0-9]{8}$'
            ),
            'scanners', (
                select
                    jsonb_agg(
                        jsonb_build_array(shard_lease.first_shard, shard_lease.last_shard, shard_lease.renewed_at)
                        order by shard_lease.first_shard, shard_lease.last_shard
                    )
                from shard_lease
            )
        )
);
revoke execute on function inspect_deployment from public;
grant execute on function inspect_deployment to hourbell_api;
