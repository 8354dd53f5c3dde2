-- A page of a job's missed stretches, latest first; the keyset is the key's own order.
select
    missed.first_scheduled_for,
    missed.last_scheduled_for,
    missed.occurrences,
    missed.reason,
    missed.recorded_at
from missed
where
    missed.job_id = %(job_id)s and missed.tenant_id = %(tenant_id)s
    and (%(before)s::timestamptz is null or missed.first_scheduled_for < %(before)s::timestamptz)
order by missed.first_scheduled_for desc
limit %(limit)s
