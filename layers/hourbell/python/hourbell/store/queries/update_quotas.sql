-- Writes the quotas of a tenant that the caller holds locked.
update tenant
set
    max_jobs = %(max_jobs)s,
    max_runs_per_minute = %(max_runs_per_minute)s,
    max_requests_per_second = %(max_requests_per_second)s,
    version = tenant.version + 1,
    updated_at = %(now)s
where tenant.tenant_id = %(tenant_id)s
