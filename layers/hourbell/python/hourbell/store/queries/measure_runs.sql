-- What became of a tenant's latest runs: by state and lane, and how late they started; no more than the limit are looked at.
with latest as materialized (
    select
        run.state,
        run.lane,
        run.scheduled_for,
        run.state in ('queued', 'retrying') and run.next_attempt_at <= %(now)s as waits,
        case
            when run.started_at >= run.fire_at then extract(epoch from run.started_at - run.fire_at) * 1000
        end as lateness_ms
    from run
    where run.tenant_id = %(tenant_id)s and run.scheduled_for > %(since)s and run.scheduled_for <= %(now)s
    order by run.scheduled_for desc
    limit %(limit)s
),

states as (
    select
        latest.state,
        count(*) as runs
    from latest
    group by latest.state
),

lanes as (
    select
        latest.lane,
        count(*) as runs
    from latest
    where latest.waits
    group by latest.lane
),

lateness as (
    select
        count(*) as runs,
        min(latest.scheduled_for) as since,
        percentile_disc(array[0.5, 0.95, 0.99]) within group (
            order by latest.lateness_ms
        ) filter (where latest.lateness_ms is not null) as percentiles
    from latest
)

select
    lateness.runs,
    lateness.since,
    (select jsonb_object_agg(states.state, states.runs) from states) as states,
    (select jsonb_object_agg(lanes.lane, lanes.runs) from lanes) as waiting,
    lateness.percentiles::double precision[] as percentiles
from lateness
