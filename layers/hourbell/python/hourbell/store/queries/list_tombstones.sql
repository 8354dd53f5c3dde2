-- The tenant's jobs of one hour that left the cold tier.
select gone.job_id
from cold_tombstone as gone
where gone.tenant_id = %(tenant_id)s and gone.due_hour = %(due_hour)s
