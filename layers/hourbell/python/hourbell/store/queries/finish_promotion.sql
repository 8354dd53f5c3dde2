-- Marks an hour as promoted once nothing of it is left in the cold tier; its content is counted in the hot one from now on.
with finished as (
    update cold_bucket
    set state = 'promoted', promoted_at = %(now)s
    where
        cold_bucket.due_hour = %(due_hour)s
        and cold_bucket.state = 'promoting'
        and not exists (select 1 from cold_intake as intake where intake.due_hour = cold_bucket.due_hour)
        and not exists (
            select 1 from cold_segment as segment
            where segment.due_hour = cold_bucket.due_hour and segment.state = 'live'
        )
    returning cold_bucket.due_hour
),

counted as (
    delete from cold_content
    using finished
    where cold_content.due_hour = finished.due_hour
)

select finished.due_hour
from finished
