-- Lets one freezer and one loader work at a time: takes a free or ended lease, renews the caller's own, and answers nothing while somebody else holds it.
insert into cold_lease as held (name, owner, token, expires_at)
values (%(name)s, %(owner)s, 1, coalesce(%(now)s, clock_timestamp()) + %(ttl)s)
on conflict (name) do update
    set
        owner = excluded.owner,
        token = held.token + case when held.owner = excluded.owner then 0 else 1 end,
        expires_at = excluded.expires_at
    where held.owner = excluded.owner or held.expires_at <= coalesce(%(now)s, clock_timestamp())
returning coalesce(%(now)s, clock_timestamp()) as now
