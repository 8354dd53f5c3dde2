-- One target of one tenant; another tenant's id finds nothing, as an id that does not exist.
select
    target.target_id,
    target.name,
    target.kind,
    target.config::text as config,
    target.rate_per_second,
    target.burst,
    target.max_concurrency,
    target.state,
    target.version,
    target.created_at,
    target.updated_at
from target
where target.target_id = %(target_id)s and target.tenant_id = %(tenant_id)s and target.state <> 'deleted'
