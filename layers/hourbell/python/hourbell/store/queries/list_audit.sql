-- A page of what was changed in a tenant, or of one thing in it, latest first.
select
    audit.audit_id,
    audit.resource_kind,
    audit.resource_id,
    audit.action,
    audit.key_id,
    audit.request_id,
    audit.changes::text as changes,
    audit.recorded_at
from audit
where
    audit.tenant_id = %(tenant_id)s
    and (%(resource_id)s::uuid is null or audit.resource_id = %(resource_id)s::uuid)
    and (%(before_id)s::uuid is null or audit.audit_id < %(before_id)s::uuid)
order by audit.audit_id desc
limit %(limit)s
