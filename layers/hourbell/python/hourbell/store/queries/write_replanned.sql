-- Moves jobs to the occurrence that the present zone data gives, and has their waiting runs checked against it when they are leased.
with replanned as (
    select *
    from unnest(%(job_ids)s::uuid[], %(scheduled_for)s::timestamptz[], %(next_run_at)s::timestamptz[]) as r (
        job_id, scheduled_for, next_run_at
    )
),

moved as (
    update due
    set scheduled_for = replanned.scheduled_for, next_run_at = replanned.next_run_at
    from replanned
    where due.job_id = replanned.job_id
    returning due.job_id
)

update job
set schedule_version = job.schedule_version + 1, updated_at = %(now)s
from moved
where job.job_id = moved.job_id
