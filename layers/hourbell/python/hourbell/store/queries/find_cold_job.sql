-- Where one cold job of the tenant is: its record while it is in the intake, or the segments that may hold it; nothing when it is in no cold place.
select
    intake.record,
    segment.object_key,
    segment.object_version,
    segment.bytes,
    segment.sha256,
    segment.blocks
from cold_bucket as bucket
left join cold_intake as intake
    on bucket.due_hour = intake.due_hour and intake.job_id = %(job_id)s and intake.tenant_id = %(tenant_id)s
left join cold_segment as segment
    on
        bucket.due_hour = segment.due_hour
        and segment.state = 'live'
        and %(job_id)s between segment.first_id and segment.last_id
        and (segment.promoted_through is null or segment.promoted_through < %(job_id)s)
        and exists (
            select 1 from cold_content as content
            where content.segment_id = segment.segment_id and content.tenant_id = %(tenant_id)s
        )
where
    bucket.due_hour = %(due_hour)s
    and (intake.job_id is not null or segment.segment_id is not null)
    and not exists (select 1 from cold_tombstone as gone where gone.job_id = %(job_id)s)
    and not exists (select 1 from job where job.job_id = %(job_id)s)
order by segment.jobs desc, segment.segment_id asc
