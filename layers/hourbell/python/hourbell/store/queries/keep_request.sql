-- Keeps an answer under its idempotency key, in the transaction of what it answers; an expired one of the same key goes.
insert into idempotent_request (tenant_id, key, request_sha256, status, headers, body, created_at)
values (%(tenant_id)s, %(key)s, %(request_sha256)s, %(status)s, %(headers)s, %(body)s, %(now)s)
on conflict (tenant_id, key) do update
    set
        request_sha256 = excluded.request_sha256,
        status = excluded.status,
        headers = excluded.headers,
        body = excluded.body,
        created_at = excluded.created_at
