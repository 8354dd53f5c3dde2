-- Moves a target to another state; the caller holds its lock.
update target
set state = %(state)s, version = target.version + 1, updated_at = %(now)s
where target.target_id = %(target_id)s and target.tenant_id = %(tenant_id)s
