-- Removes events that the bus has.
delete from event_outbox
where event_outbox.event_id = any(%(event_ids)s)
