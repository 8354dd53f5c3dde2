-- Inserts a named target; the name is unique among the tenant's targets that are not deleted.
insert into target (
    target_id, tenant_id, name, kind, config, config_sha256, rate_per_second, burst, max_concurrency,
    created_at, updated_at
) values (
    %(target_id)s, %(tenant_id)s, %(name)s, %(kind)s, %(config)s::jsonb, %(config_sha256)s, %(rate_per_second)s,
    %(burst)s, %(max_concurrency)s, %(now)s, %(now)s
)
