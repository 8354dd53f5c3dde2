-- Gives a test to the first worker that asks, and never again: not to a second delivery, not when nobody waits any more.
update target_test
set state = 'running', started_at = coalesce(%(now)s::timestamptz, now())
from target
where
    target_test.test_id = %(test_id)s
    and target_test.state = 'waiting'
    and target_test.created_at > coalesce(%(now)s::timestamptz, now()) - %(patience)s::interval
    and target.target_id = target_test.target_id
returning
    target_test.test_id,
    target_test.payload,
    target_test.created_at,
    target.target_id,
    target.kind,
    target.config
