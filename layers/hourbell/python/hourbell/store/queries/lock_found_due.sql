-- Locks the due rows of these jobs as far as they are still due; a row that another claim holds is passed over, never waited for.
select due.job_id, due.tenant_id, due.scheduled_for, due.next_run_at
from due
where due.job_id = any(%(job_ids)s::uuid[]) and due.next_run_at <= %(until)s
order by due.job_id
for update skip locked
