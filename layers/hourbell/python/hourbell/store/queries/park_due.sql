-- Takes a paused job out of every claim's reach, and keeps its oldest unplanned occurrence for a catch-up.
update due
set next_run_at = 'infinity'
where due.job_id = %(job_id)s and due.tenant_id = %(tenant_id)s
