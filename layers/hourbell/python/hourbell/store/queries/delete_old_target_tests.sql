-- Deletes the tests that no repeated request asks for any more.
delete from target_test
where target_test.created_at <= %(before)s
