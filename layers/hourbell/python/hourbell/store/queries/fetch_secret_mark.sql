-- How the hash of a key's present secret begins: tells it from the one before, and opens nothing.
select left(encode(api_key.secret_sha256, 'hex'), 16) as secret_mark
from api_key
where api_key.key_id = %(key_id)s and api_key.tenant_id = %(tenant_id)s
