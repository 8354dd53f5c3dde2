-- A page of what was changed in a tenant, or of one thing in it, latest first.
select
    audit.audit_id,
    audit.resource_kind,
    audit.resource_id,
    audit.action,
    audit.key_id,
    audit.request_id,
    audit.changes::text as changes,
    audit.recorded_at,
    audit.place
from audit
where
    audit.tenant_id = %(tenant_id)s
    and (%(resource_id)s::uuid is null or audit.resource_id = %(resource_id)s::uuid)
    and (%(before)s::bigint is null or audit.place < %(before)s::bigint)
order by audit.place desc
limit %(limit)s
