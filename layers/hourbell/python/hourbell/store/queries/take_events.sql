-- Takes the oldest events that nobody is sending, each for one sender at a time; one whose sender died is taken again.
with clock as (select coalesce(%(now)s::timestamptz, clock_timestamp()) as now),

oldest as materialized (
    select event_outbox.event_id
    from event_outbox
    where event_outbox.taken_until is null or event_outbox.taken_until <= (select clock.now from clock)
    order by event_outbox.recorded_at
    limit %(limit)s
    for update skip locked
)

update event_outbox
set taken_until = (select clock.now from clock) + %(hold)s
from oldest
where event_outbox.event_id = oldest.event_id
returning
    event_outbox.event_id,
    event_outbox.kind,
    event_outbox.tenant_id,
    event_outbox.job_id,
    event_outbox.run_id,
    event_outbox.scheduled_for,
    event_outbox.target_id,
    event_outbox.attempt,
    event_outbox.reason,
    event_outbox.error,
    event_outbox.recorded_at
