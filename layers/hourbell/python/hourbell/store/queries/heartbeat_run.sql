-- Extends the lease that the caller's token still holds, and keeps the progress it brings.
update run
set
    lease_expires_at = clock.now + %(lease)s,
    wake_at = clock.now + %(lease)s,
    progress = coalesce(%(progress)s::jsonb, run.progress)
from (select coalesce(%(now)s::timestamptz, clock_timestamp()) as now) as clock
where
    run.run_id = %(run_id)s and run.scheduled_for = %(scheduled_for)s and run.tenant_id = %(tenant_id)s
    and run.state = 'running' and run.lease_token = %(token)s
returning run.lease_expires_at
