-- Locks a tenant against other edits of it; its jobs may be made and claimed meanwhile, as far as no quota of runs holds them.
select tenant.version
from tenant
where tenant.tenant_id = %(tenant_id)s
for no key update
