-- Search whose cost has a bound, whatever matches and whoever else's jobs do.

-- What begins every term of a tenant in the index of words: one tenant's search reads nothing of another's.
create function tenant_mark(tenant_id uuid) returns text language sql immutable parallel safe
return to_hex(uuid_hash(tenant_id)) || '/';

create function tenant_terms(tenant_id uuid, terms tsvector) returns tsvector language sql immutable parallel safe
return (select array_to_tsvector(array_agg(tenant_mark(tenant_id) || term)) from unnest(tsvector_to_array(terms)) as term);

drop index job_terms_idx;
create index job_terms_idx on job using gin (tenant_terms(tenant_id, terms))
with (gin_pending_list_limit = 512) where state <> 'deleted';

-- One job in 64, by a hash of its id: tells how many of all match a term before these are read.
create index job_sample_idx on job using gin (tenant_terms(tenant_id, terms))
with (gin_pending_list_limit = 64) where state <> 'deleted' and (uuid_hash(job_id) & 63) = 0;

create or replace view searched_job as
select
    job_id,
    tenant_id,
    name,
    state,
    target_id,
    terms,
    tenant_terms(tenant_id, terms) as own_terms,
    (uuid_hash(job_id) & 63) = 0 as sampled
from job
where tenant_id = current_tenant();

-- These two read the tables of all tenants, in the order of an index, and answer with what is the caller's own; null where
-- more than so many rows would have to be read, and never whose they are.

-- Jobs that wait in the hot table for a time before this one.
create function waiting_jobs(due_before timestamptz, most integer) returns uuid[]
language sql stable security definer set search_path from current
return (
    select
        case
            when count(*) <= $2
                then coalesce(array_agg(waiting.job_id) filter (where waiting.tenant_id = current_tenant()), array[]::uuid[])
        end
    from (
        select
            of_shard.job_id,
            of_shard.tenant_id
        from generate_series(0, 127) as shard (id)
        cross join
            lateral (
                select
                    due.job_id,
                    due.tenant_id
                from due
                where due.shard_id = shard.id and due.next_run_at < $1
                order by due.next_run_at
                limit $2 + 1
            ) as of_shard
        limit $2 + 1
    ) as waiting
);

-- Jobs with a run for an occurrence before this one that has not ended.
create function unfinished_jobs(scheduled_before timestamptz, most integer) returns uuid[]
language sql stable security definer set search_path from current
return (
    select
        case
            when count(*) <= $2
                then
                    coalesce(
                        array_agg(distinct waking.job_id) filter (where waking.tenant_id = current_tenant()), array[]::uuid[]
                    )
        end
    from (
        select
            run.job_id,
            run.tenant_id
        from run
        where run.wake_at is not null and run.scheduled_for < $1
        order by run.wake_at
        limit $2 + 1
    ) as waking
);

revoke execute on function waiting_jobs, unfinished_jobs from public;
grant execute on function waiting_jobs, unfinished_jobs to hourbell_api;

-- A job with its target and its place in the hot table, as StoredJob has it; under the row policies of whoever asks.
create view stored_job with (security_invoker = true) as
select
    job.job_id,
    job.tenant_id,
    job.name,
    job.target_id,
    target.name as target_name,
    target.kind as target_kind,
    target.config::text as target_config,
    job.state,
    job.schedule,
    job.schedule_version,
    job.payload,
    job.window_ms,
    job.catch_up::text as catch_up,
    job.overlap,
    job.retry::text as retry,
    job.timeout_ms,
    job.tags::text as tags,
    job.runs_planned,
    job.skipped,
    job.error,
    job.note,
    job.version,
    job.created_at,
    job.updated_at,
    due.scheduled_for as due_scheduled_for
from job
inner join target on job.target_id = target.target_id
left join due on job.job_id = due.job_id;

grant select on stored_job to hourbell_api;
