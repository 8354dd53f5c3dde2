-- The answer that was kept under a locked idempotency key.
select
    idempotent_request.request_sha256,
    idempotent_request.status,
    idempotent_request.headers,
    idempotent_request.body
from idempotent_request
where
    idempotent_request.tenant_id = %(tenant_id)s
    and idempotent_request.key = %(key)s
    and idempotent_request.created_at > %(since)s
