-- Writes a test that waits for a worker.
insert into target_test (test_id, tenant_id, target_id, payload, created_at)
values (%(test_id)s, %(tenant_id)s, %(target_id)s, %(payload)s, %(now)s)
