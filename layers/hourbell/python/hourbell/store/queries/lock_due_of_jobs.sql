-- Locks the due rows of exactly these jobs up to the horizon, in id order, waiting for whoever holds one.
select due.job_id, due.tenant_id, due.scheduled_for, due.next_run_at
from due
where due.job_id = any(%(job_ids)s) and due.next_run_at <= %(until)s
order by due.job_id
for update
