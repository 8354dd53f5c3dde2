-- For how many seconds the oldest event has waited to be sent; 0 when there is none.
select
    coalesce(
        extract(epoch from coalesce(%(now)s::timestamptz, clock_timestamp()) - min(event_outbox.recorded_at)), 0
    )::double precision as oldest_seconds
from event_outbox
