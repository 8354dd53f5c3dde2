-- The tenant's target of this name.
select target.target_id
from target
where target.tenant_id = %(tenant_id)s and target.name = %(name)s and target.state <> 'deleted'
