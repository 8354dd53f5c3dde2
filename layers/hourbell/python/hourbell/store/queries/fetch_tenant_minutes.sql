-- How many runs of these tenants have a moment in which minute, from this one on.
select
    tenant_minute.tenant_id,
    tenant_minute.minute,
    tenant_minute.runs
from tenant_minute
where tenant_minute.tenant_id = any(%(tenant_ids)s) and tenant_minute.minute >= %(since)s
