-- Inserts an unnamed target unless the tenant has one of the same destination; answers nothing then.
insert into target (target_id, tenant_id, kind, config, config_sha256, created_at, updated_at)
values (
    %(target_id)s, %(tenant_id)s, %(kind)s, %(config)s::jsonb, %(config_sha256)s, %(now)s, %(now)s
)
on conflict (tenant_id, config_sha256) where name is null and state <> 'deleted' do nothing
returning target.target_id
