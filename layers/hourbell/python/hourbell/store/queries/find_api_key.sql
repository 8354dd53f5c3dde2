-- The key behind this hash, unless it was revoked or has expired.
select api_key.key_id, api_key.tenant_id, api_key.scopes
from api_key
where
    api_key.secret_sha256 = %(secret_sha256)s
    and api_key.revoked_at is null
    and (api_key.expires_at is null or api_key.expires_at > %(now)s)
