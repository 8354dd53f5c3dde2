-- A page of a tenant's named targets, newest first; inline ones belong to their jobs and are not listed.
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
where
    target.tenant_id = %(tenant_id)s
    and target.state <> 'deleted'
    and target.name is not null
    and (%(before_id)s::uuid is null or target.target_id < %(before_id)s::uuid)
    and (%(name)s::text is null or target.name = %(name)s::text)
    and (%(state)s::text is null or target.state = %(state)s::text)
order by target.target_id desc
limit %(limit)s
