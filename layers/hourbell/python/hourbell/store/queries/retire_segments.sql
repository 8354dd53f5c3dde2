-- Lets one segment take the place of others: theirs is its content, and they are live no more. Answers how many there were.
with retired as (
    update cold_segment
    set state = 'retired', retired_at = %(now)s
    where cold_segment.segment_id = any(%(segment_ids)s::uuid[]) and cold_segment.state = 'live'
    returning cold_segment.segment_id
),

given as (
    delete from cold_content
    using retired
    where cold_content.segment_id = retired.segment_id
    returning cold_content.tenant_id, cold_content.target_id, cold_content.due_hour, cold_content.jobs
),

content as (
    insert into cold_content (segment_id, tenant_id, target_id, due_hour, jobs)
    select %(segment_id)s, given.tenant_id, given.target_id, given.due_hour, sum(given.jobs)
    from given
    group by given.tenant_id, given.target_id, given.due_hour
)

select count(*) as segments
from retired
