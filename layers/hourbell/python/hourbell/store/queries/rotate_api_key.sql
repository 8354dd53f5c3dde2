-- Gives a locked key a new secret; the one before it opens until the given moment, and what came before that no longer.
update api_key
set
    previous_sha256 = api_key.secret_sha256,
    previous_expires_at = %(previous_expires_at)s,
    secret_sha256 = %(secret_sha256)s
where api_key.key_id = %(key_id)s and api_key.tenant_id = %(tenant_id)s
