-- Those of these jobs that have a run which has not ended.
select distinct run.job_id
from run
where run.job_id = any(%(job_ids)s) and run.tenant_id = %(tenant_id)s and run.wake_at is not null
