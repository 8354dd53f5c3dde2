-- One key of one tenant, locked against other changes until the transaction ends.
select
    api_key.key_id,
    api_key.name,
    api_key.scopes,
    api_key.created_at,
    api_key.expires_at,
    api_key.revoked_at,
    api_key.last_used_at,
    api_key.previous_expires_at
from api_key
where api_key.key_id = %(key_id)s and api_key.tenant_id = %(tenant_id)s
for update
