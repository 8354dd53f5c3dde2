-- Ends an unfinished run whose lock the caller holds; the worker that has it finds its lease gone.
with ended as (
    update run
    set
        state = 'cancelled', reason = 'cancelled', lease_token = null, lease_expires_at = null, wake_at = null,
        finished_at = %(now)s
    where run.job_id = %(job_id)s and run.scheduled_for = %(scheduled_for)s
    returning run.run_id, run.attempt, run.scheduled_for
)

update attempt
set finished_at = %(now)s, outcome = 'cancelled', error = 'the run was cancelled'
from ended
where
    attempt.run_id = ended.run_id and attempt.number = ended.attempt and attempt.scheduled_for = ended.scheduled_for
    and attempt.scheduled_for = %(scheduled_for)s
    and attempt.finished_at is null
