-- Notes what a job passes over, and what is no longer counted as planned; the caller holds its lock.
update job
set
    state = %(state)s,
    skipped = %(skipped)s,
    runs_planned = greatest(0, job.runs_planned - %(unplanned)s),
    version = job.version + 1,
    updated_at = %(now)s
where job.job_id = %(job_id)s and job.tenant_id = %(tenant_id)s
