-- Locks the job's place in the hot table before the job itself, in the order in which a claim locks.
select 1
from due
where due.job_id = %(job_id)s and due.tenant_id = %(tenant_id)s
for update
