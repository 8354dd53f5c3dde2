-- The states of the runs that a job has at these occurrences.
select
    run.scheduled_for,
    run.state
from run
where
    run.job_id = %(job_id)s and run.tenant_id = %(tenant_id)s
    and run.scheduled_for between %(first)s and %(last)s
    and run.scheduled_for = any(%(scheduled_for)s::timestamptz[])
