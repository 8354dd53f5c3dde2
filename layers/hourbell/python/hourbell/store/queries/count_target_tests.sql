-- How many tests a tenant has asked for since a moment, and when the first of them.
select
    count(*) as tests,
    min(target_test.created_at) as first_at
from target_test
where target_test.tenant_id = %(tenant_id)s and target_test.created_at > %(since)s
