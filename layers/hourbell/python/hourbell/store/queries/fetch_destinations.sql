-- What jobs show of these targets of the tenant.
select target.target_id, target.name, target.kind, target.config::text as config
from target
where target.target_id = any(%(target_ids)s::uuid[]) and target.tenant_id = %(tenant_id)s
