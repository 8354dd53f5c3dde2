-- Takes an idempotency key for this transaction, or answers false: one request with it is carried out at a time, and nobody waits.
select pg_try_advisory_xact_lock(hashtextextended(%(tenant_id)s::text || %(key)s::text, 0))
