-- A page of a tenant's keys, newest first, revoked ones too.
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
where
    api_key.tenant_id = %(tenant_id)s
    and (%(before_id)s::uuid is null or api_key.key_id < %(before_id)s::uuid)
order by api_key.key_id desc
limit %(limit)s
