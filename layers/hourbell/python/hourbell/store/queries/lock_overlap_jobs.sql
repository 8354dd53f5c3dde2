-- Locks those of these jobs that mind overlapping runs, in id order, so that two workers judge one after the other.
select job.job_id
from job
where job.job_id = any(%(job_ids)s) and job.overlap <> 'allow'
order by job.job_id
for update
