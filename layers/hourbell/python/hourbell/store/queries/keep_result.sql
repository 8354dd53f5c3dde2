-- Keeps the result that a target reported for a run whose lock the caller holds.
update run
set result = %(result)s
where run.job_id = %(job_id)s and run.scheduled_for = %(scheduled_for)s
