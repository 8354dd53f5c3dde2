-- Stores an API key by its SHA-256.
insert into api_key (key_id, tenant_id, name, secret_sha256, scopes, created_at, expires_at)
values (%(key_id)s, %(tenant_id)s, %(name)s, %(secret_sha256)s, %(scopes)s, %(now)s, %(expires_at)s)
