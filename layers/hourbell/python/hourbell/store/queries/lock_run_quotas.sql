-- Locks those of these tenants that have a quota of runs, in id order, so that two planners never give away the same place in a minute.
select
    tenant.tenant_id,
    tenant.max_runs_per_minute
from tenant
where tenant.tenant_id = any(%(tenant_ids)s) and tenant.max_runs_per_minute is not null
order by tenant.tenant_id
for no key update
