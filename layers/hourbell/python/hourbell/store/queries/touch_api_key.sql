-- Notes that a key was used, unless another environment has just done so.
update api_key
set last_used_at = %(now)s
where
    api_key.key_id = %(key_id)s
    and (api_key.last_used_at is null or api_key.last_used_at <= %(unless_since)s)
