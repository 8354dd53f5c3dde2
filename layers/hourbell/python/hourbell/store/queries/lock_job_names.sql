-- Lets one transaction at a time decide who has a name, in either tier; in one order for all who do this.
select pg_advisory_xact_lock(wanted.key) as locked
from (
    select distinct hashtextextended(%(tenant_id)s::text || ' ' || n.name, 0) as key
    from unnest(%(names)s::text[]) as n (name)
    order by 1
) as wanted
