-- Gives the job its one place in the hot table, or moves it there.
insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
values (%(job_id)s, %(tenant_id)s, %(shard_id)s, %(next_run_at)s, %(scheduled_for)s)
on conflict (job_id) do update
    set next_run_at = excluded.next_run_at, scheduled_for = excluded.scheduled_for
