-- Writes an edited target; the caller holds its lock.
update target
set
    name = %(name)s,
    kind = %(kind)s,
    config = %(config)s::jsonb,
    config_sha256 = %(config_sha256)s,
    rate_per_second = %(rate_per_second)s,
    burst = %(burst)s,
    max_concurrency = %(max_concurrency)s,
    version = target.version + 1,
    updated_at = %(now)s
where target.target_id = %(target_id)s and target.tenant_id = %(tenant_id)s
