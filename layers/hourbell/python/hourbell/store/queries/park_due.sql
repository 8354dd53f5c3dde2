-- Takes a paused job out of every claim's reach, and keeps its oldest occurrence that has not fired for a catch-up: that
-- of the due row, or of a run that is planned ahead already and will find the job paused.
insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
select
    job.job_id,
    job.tenant_id,
    %(shard_id)s,
    'infinity',
    place.scheduled_for
from job
cross join
    lateral (
        select least(
            (select due.scheduled_for from due where due.job_id = job.job_id),
            (
                select min(run.scheduled_for)
                from run
                where
                    run.job_id = job.job_id and run.origin = 'schedule' and run.state = 'queued' and run.attempt = 0
                    and run.wake_at is not null
            )
        ) as scheduled_for
    ) as place
where job.job_id = %(job_id)s and job.tenant_id = %(tenant_id)s and place.scheduled_for is not null
on conflict (job_id) do update
    set next_run_at = excluded.next_run_at, scheduled_for = excluded.scheduled_for
