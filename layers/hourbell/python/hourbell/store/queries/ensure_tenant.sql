-- The tenant of a name, made where it is missing; two callers get the same one.
insert into tenant (tenant_id, name, created_at)
values (%(tenant_id)s, %(name)s, %(now)s)
on conflict (name) do update set name = excluded.name
returning tenant_id
