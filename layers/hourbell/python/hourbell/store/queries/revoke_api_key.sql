-- Closes a locked key for good.
update api_key
set revoked_at = %(now)s
where api_key.key_id = %(key_id)s and api_key.tenant_id = %(tenant_id)s
