-- The tenant's unnamed target of exactly this destination, kept from being deleted until the transaction ends.
select target.target_id
from target
where
    target.tenant_id = %(tenant_id)s
    and target.config_sha256 = %(config_sha256)s
    and target.name is null
    and target.state <> 'deleted'
for key share
