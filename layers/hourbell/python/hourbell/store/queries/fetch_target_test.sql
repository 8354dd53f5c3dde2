-- One test of one tenant, finished or not.
select
    target_test.test_id,
    target_test.state,
    target_test.outcome,
    target_test.status_code,
    target_test.error,
    target_test.duration_ms,
    target_test.sent
from target_test
where target_test.test_id = %(test_id)s and target_test.tenant_id = %(tenant_id)s
