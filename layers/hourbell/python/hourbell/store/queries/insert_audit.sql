-- Records changes with the key and the request that their transaction has named; both are null outside the API.
insert into audit (
    tenant_id, audit_id, resource_kind, resource_id, action, key_id, request_id, changes, recorded_at
)
select
    %(tenant_id)s,
    changed.audit_id,
    %(resource_kind)s,
    changed.resource_id,
    %(action)s,
    nullif(current_setting('hourbell.key_id', true), '')::uuid,
    nullif(current_setting('hourbell.request_id', true), ''),
    changed.changes::jsonb,
    %(now)s
from
    unnest(%(audit_ids)s::uuid[], %(resource_ids)s::uuid[], %(changes)s::text[])
        as changed (audit_id, resource_id, changes)
