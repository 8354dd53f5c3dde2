-- Those of these jobs that need no record in a segment: hot, in the intake, or gone from the cold tier.
select job.job_id
from job
where job.job_id = any(%(job_ids)s::uuid[])
union
select intake.job_id
from cold_intake as intake
where intake.job_id = any(%(job_ids)s::uuid[])
union
select gone.job_id
from cold_tombstone as gone
where gone.job_id = any(%(job_ids)s::uuid[])
