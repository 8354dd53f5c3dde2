-- The records of the tenant's jobs of one hour that are in the intake, in the order of their ids.
select intake.record
from cold_intake as intake
where
    intake.tenant_id = %(tenant_id)s
    and intake.due_hour = %(due_hour)s
    and (%(after_id)s::uuid is null or intake.job_id > %(after_id)s::uuid)
order by intake.job_id
limit %(limit)s
