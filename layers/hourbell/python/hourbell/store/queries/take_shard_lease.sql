-- Gives a shard range to one scanner at a time: takes a free or ended lease, renews the caller's own, and answers nothing while somebody else holds it.
insert into shard_lease as held (first_shard, last_shard, owner, token, expires_at, renewed_at)
values (
    %(first_shard)s, %(last_shard)s, %(owner)s, 1,
    coalesce(%(now)s, clock_timestamp()) + %(ttl)s, coalesce(%(now)s, clock_timestamp())
)
on conflict (first_shard, last_shard) do update
    set
        owner = excluded.owner,
        token = held.token + case when held.owner = excluded.owner then 0 else 1 end,
        expires_at = excluded.expires_at,
        renewed_at = excluded.renewed_at
    where held.owner = excluded.owner or held.expires_at <= coalesce(%(now)s, clock_timestamp())
returning held.token, coalesce(%(now)s, clock_timestamp()) as now
