-- The runs that a job has at these occurrences, and whether they were made by the backfill of this very moment.
select
    run.scheduled_for,
    run.state,
    run.origin = 'backfill' and run.created_at = %(now)s as mine
from run
where
    run.job_id = %(job_id)s and run.tenant_id = %(tenant_id)s
    and run.scheduled_for between %(first)s and %(last)s
    and run.scheduled_for = any(%(scheduled_for)s::timestamptz[])
