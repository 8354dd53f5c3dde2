-- Records what came of a test, for who waits for it; once.
update target_test
set
    state = 'finished',
    outcome = %(outcome)s,
    status_code = %(status_code)s,
    error = %(error)s,
    duration_ms = %(duration_ms)s,
    sent = %(sent)s,
    finished_at = coalesce(%(now)s::timestamptz, now())
where target_test.test_id = %(test_id)s and target_test.state = 'running'
