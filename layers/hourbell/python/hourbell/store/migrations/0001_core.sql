-- Tenants, keys, targets, jobs, the hot table, runs and their attempts, shard leases.

create table tenant (
    tenant_id uuid constraint tenant_pkey primary key,
    name text not null constraint tenant_name_key unique,
    created_at timestamptz not null default now()
);

create table api_key (
    key_id uuid constraint api_key_pkey primary key,
    tenant_id uuid not null constraint api_key_tenant_fkey references tenant,
    name text not null,
    secret_sha256 bytea not null constraint api_key_secret_key unique,
    scopes text[] not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    constraint api_key_secret_length check (octet_length(secret_sha256) = 32)
);
create index api_key_tenant_idx on api_key (tenant_id, key_id);

create table target (
    target_id uuid constraint target_pkey primary key,
    tenant_id uuid not null constraint target_tenant_fkey references tenant,
    -- null: an inline target, shared by the jobs of the tenant that spell the same destination
    name text,
    kind text not null constraint target_kind_check check (kind in ('http')),
    config jsonb not null,
    config_sha256 bytea not null,
    rate_per_second double precision,
    burst integer,
    max_concurrency integer,
    state text not null default 'active' constraint target_state_check check (state in ('active', 'paused', 'deleted')),
    version integer not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create unique index target_name_key on target (tenant_id, name) where name is not null and state <> 'deleted';
create unique index target_inline_key on target (tenant_id, config_sha256) where name is null and state <> 'deleted';
create index target_tenant_idx on target (tenant_id, target_id);

create table job (
    job_id uuid constraint job_pkey primary key,
    tenant_id uuid not null constraint job_tenant_fkey references tenant,
    name text,
    target_id uuid not null constraint job_target_fkey references target,
    state text not null constraint job_state_check check (state in ('active', 'paused', 'completed', 'deleted')),
    -- JSON as text where Postgres never looks inside: kept to the letter, parsed once per distinct text
    schedule text not null,
    schedule_version integer not null default 1,
    payload text not null,
    window_ms bigint not null default 0,
    catch_up jsonb not null,
    overlap text not null constraint job_overlap_check check (overlap in ('allow', 'skip', 'buffer_one', 'cancel_running')),
    retry jsonb not null,
    timeout_ms integer not null constraint job_timeout_check check (timeout_ms between 1000 and 840000),
    tags jsonb not null,
    -- occurrences planned so far, against the schedule's max_runs
    runs_planned bigint not null default 0,
    -- why the scanner could not plan this job (zone removed, expression no longer accepted)
    error text,
    note text,
    version integer not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null
);
create unique index job_name_key on job (tenant_id, name) where name is not null and state <> 'deleted';
create index job_tenant_idx on job (tenant_id, job_id) where state <> 'deleted';
create index job_target_idx on job (target_id) where state <> 'deleted';
create index job_tags_idx on job using gin (tags jsonb_path_ops) where state <> 'deleted';

-- The hot table: the next occurrence of each warm, active job. Narrow, and vacuumed eagerly:
-- each firing leaves a dead row and a dead index entry, and claims read past them until vacuum comes.
create table due (
    job_id uuid constraint due_pkey primary key,
    tenant_id uuid not null,
    shard_id smallint not null constraint due_shard_check check (shard_id between 0 and 127),
    next_run_at timestamptz not null,
    scheduled_for timestamptz not null
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0,
    autovacuum_analyze_threshold = 100000
);
create index due_shard_next_idx on due (shard_id, next_run_at);

create table run (
    job_id uuid not null,
    scheduled_for timestamptz not null,
    run_id uuid not null,
    tenant_id uuid not null,
    target_id uuid not null,
    origin text not null constraint run_origin_check check (origin in ('schedule', 'trigger', 'backfill')),
    lane text not null constraint run_lane_check check (lane in ('shared', 'solo')),
    state text not null constraint run_state_check check (
        state in ('queued', 'running', 'retrying', 'succeeded', 'dead', 'cancelled', 'skipped')
    ),
    reason text,
    schedule_version integer not null,
    fire_at timestamptz not null,
    -- when the next attempt may start: fire_at, then the retry's time
    next_attempt_at timestamptz not null,
    -- when the reaper must look again if nothing happens; null once the run has ended
    wake_at timestamptz,
    -- how often the reaper has looked at it in vain, for its backing off
    wakes smallint not null default 0,
    attempt integer not null default 0,
    lease_token uuid,
    lease_expires_at timestamptz,
    -- a payload of its own (trigger); null: the job's
    payload text,
    progress jsonb,
    error text,
    started_at timestamptz,
    finished_at timestamptz,
    created_at timestamptz not null,
    constraint run_pkey primary key (job_id, scheduled_for),
    constraint run_wake_check check ((wake_at is null) = (state in ('succeeded', 'dead', 'cancelled', 'skipped'))),
    constraint run_lease_check check ((lease_token is null) = (state <> 'running'))
) partition by range (scheduled_for);
create index run_id_idx on run (run_id);
create index run_wake_idx on run (wake_at) where wake_at is not null;
create index run_tenant_idx on run (tenant_id, scheduled_for desc, job_id);

create table attempt (
    run_id uuid not null,
    scheduled_for timestamptz not null,
    number integer not null,
    started_at timestamptz not null,
    finished_at timestamptz,
    outcome text constraint attempt_outcome_check check (outcome in ('succeeded', 'failed', 'timed_out', 'crashed', 'cancelled')),
    status_code integer,
    error text,
    duration_ms integer,
    constraint attempt_pkey primary key (run_id, number, scheduled_for)
) partition by range (scheduled_for);

-- The default partitions catch what no day partition covers: a run is never lost for want of one.
create table run_default partition of run default;
create table attempt_default partition of attempt default;

create table shard_lease (
    first_shard smallint not null,
    last_shard smallint not null,
    owner text not null,
    token bigint not null,
    expires_at timestamptz not null,
    constraint shard_lease_pkey primary key (first_shard, last_shard)
);

-- Occurrences that were not run, where there are too many for a run record each: one row per stretch.
create table missed (
    job_id uuid not null,
    first_scheduled_for timestamptz not null,
    last_scheduled_for timestamptz not null,
    tenant_id uuid not null,
    occurrences bigint not null constraint missed_occurrences_check check (occurrences > 0),
    reason text not null,
    recorded_at timestamptz not null,
    constraint missed_pkey primary key (job_id, first_scheduled_for)
);

-- Makes the partitions of one day (UTC) of run and attempt; rows of that day that already wait in the default
-- partition move over, so that a partition made late loses nothing. Idempotent; answers whether it made any.
create function make_day_partitions(wanted date) returns boolean language plpgsql as $$
declare
    parent text;
    child text;
    made boolean := false;
    starts timestamptz := wanted::timestamp at time zone 'UTC';
    ends timestamptz := (wanted + 1)::timestamp at time zone 'UTC';
begin
    foreach parent in array array['run', 'attempt'] loop
        child := parent || '_' || to_char(wanted, 'YYYYMMDD');
        if to_regclass(child) is not null then
            continue;
        end if;
        -- Writers of this day wait here, instead of slipping into the default partition while its rows move.
        execute format('lock table only %I in share update exclusive mode', parent);
        execute format('lock table %I in access exclusive mode', parent || '_default');
        execute format('create table %I (like %I including defaults including constraints)', child, parent);
        execute format(
            'with moved as (delete from %I where scheduled_for >= %L and scheduled_for < %L returning *) '
            'insert into %I select * from moved', parent || '_default', starts, ends, child);
        execute format(
            'alter table %I attach partition %I for values from (%L) to (%L)', parent, child, starts, ends);
        made := true;
    end loop;
    return made;
end
$$;
