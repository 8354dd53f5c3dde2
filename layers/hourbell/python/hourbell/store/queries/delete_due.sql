-- Takes the job out of the hot table.
delete from due
where due.job_id = %(job_id)s and due.tenant_id = %(tenant_id)s
