-- Makes a tenant; its name is unique.
insert into tenant (
    tenant_id, name, max_jobs, max_runs_per_minute, max_requests_per_second, created_at, updated_at
) values (
    %(tenant_id)s, %(name)s, %(max_jobs)s, %(max_runs_per_minute)s, %(max_requests_per_second)s, %(now)s, %(now)s
)
