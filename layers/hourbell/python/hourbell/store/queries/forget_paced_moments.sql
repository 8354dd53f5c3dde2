-- Puts due rows that wait for a moment of this target's old pace back to their own time, to be given new ones.
update due
set next_run_at = due.scheduled_for
from job
where
    job.target_id = %(target_id)s and due.job_id = job.job_id
    and due.next_run_at > due.scheduled_for + job.window_ms * interval '1 millisecond'
    and due.next_run_at < 'infinity'
