-- The key behind this hash, unless it was revoked or has expired; a rotated one opens by its last secret too, for its grace.
select
    api_key.key_id,
    api_key.tenant_id,
    api_key.scopes,
    api_key.last_used_at,
    tenant.max_requests_per_second
from api_key
inner join tenant on api_key.tenant_id = tenant.tenant_id
where
    (
        api_key.secret_sha256 = %(secret_sha256)s
        or (api_key.previous_sha256 = %(secret_sha256)s and api_key.previous_expires_at > %(now)s)
    )
    and api_key.revoked_at is null
    and (api_key.expires_at is null or api_key.expires_at > %(now)s)
