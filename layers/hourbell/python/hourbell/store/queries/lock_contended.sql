-- Locks what the runs of a batch compete for, in id order: jobs that mind overlapping runs, and targets with a
-- concurrency limit. Two workers judge such runs one after the other.
with jobs as (
    select job.job_id
    from job
    where job.job_id = any(%(job_ids)s) and job.overlap <> 'allow'
    order by job.job_id
    for update
),

targets as (
    select target.target_id
    from target
    where
        target.max_concurrency is not null
        and target.target_id in (select job.target_id from job where job.job_id = any(%(job_ids)s))
    order by target.target_id
    for no key update
)

select
    (select count(*) from jobs) as jobs,
    (select count(*) from targets) as targets
