-- The jobs behind locked due rows, as they are after the locks were taken: a statement of its own, because the
-- locking one reads joined tables as they were when it began, and an edit may have been committed in between.
select
    job.job_id,
    job.target_id,
    job.state,
    job.schedule,
    job.schedule_version,
    job.window_ms,
    job.catch_up::text as catch_up,
    job.timeout_ms,
    target.kind as target_kind,
    job.runs_planned,
    job.skipped
from job
inner join target on job.target_id = target.target_id
where job.job_id = any(%(job_ids)s::uuid[])
