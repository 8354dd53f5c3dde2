-- The latest occurrence of the job that has a run, among those after a moment.
select max(run.scheduled_for) as scheduled_for
from run
where run.job_id = %(job_id)s and run.tenant_id = %(tenant_id)s and run.scheduled_for > %(after)s and run.origin = 'schedule'
