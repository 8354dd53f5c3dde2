-- Locks jobs that may be paused by what their targets answered, their places in the hot table first, in id order.
with places as (
    select due.job_id
    from due
    where due.job_id = any(%(job_ids)s)
    order by due.job_id
    for update
),

jobs as (
    select job.job_id
    from job
    where job.job_id = any(%(job_ids)s)
    order by job.job_id
    for update
)

select
    (select count(*) from places) as places,
    (select count(*) from jobs) as jobs
