-- Makes the tests that a tenant asks for at once take turns until the transaction ends, so that none is miscounted.
select pg_advisory_xact_lock(hashtextextended('target_test' || %(tenant_id)s::text, 0))
