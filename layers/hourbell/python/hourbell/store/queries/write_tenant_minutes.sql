-- Writes how many runs have a moment in which minute, for tenants that the caller holds locked, and forgets minutes that have gone by.
with gone as (
    delete from tenant_minute
    where tenant_minute.tenant_id = any(%(tenant_ids)s::uuid[]) and tenant_minute.minute < %(since)s
)

insert into tenant_minute (tenant_id, minute, runs)
select
    given.tenant_id,
    given.minute,
    given.runs
from unnest(%(tenant_ids)s::uuid[], %(minutes)s::timestamptz[], %(runs)s::integer[]) as given (tenant_id, minute, runs)
on conflict (tenant_id, minute) do update
    set runs = excluded.runs
