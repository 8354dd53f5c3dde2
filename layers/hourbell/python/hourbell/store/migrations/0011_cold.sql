-- The cold tier: far-future one-offs wait in the intake, then in segments in S3 that the catalogue knows, hour by hour.

create table cold_bucket (
    -- hours since 1970, as a job id holds them
    due_hour integer constraint cold_bucket_pkey primary key,
    state text not null default 'open' constraint cold_bucket_state_check check (state in ('open', 'promoting', 'promoted')),
    promoted_at timestamptz,
    constraint cold_bucket_hour_check check (due_hour between 1 and 16777215)
);
create index cold_bucket_unpromoted_idx on cold_bucket (due_hour) where state <> 'promoted';

-- Accepted, and not in a segment yet. Rows come and go, and never change.
create table cold_intake (
    job_id uuid constraint cold_intake_pkey primary key,
    due_hour integer not null constraint cold_intake_bucket_fkey references cold_bucket,
    tenant_id uuid not null constraint cold_intake_tenant_fkey references tenant,
    target_id uuid not null constraint cold_intake_target_fkey references target,
    -- the line that stands in a segment later
    record text not null,
    created_at timestamptz not null
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 50000
);
create index cold_intake_hour_idx on cold_intake (due_hour, job_id);
create index cold_intake_tenant_idx on cold_intake (tenant_id, due_hour, job_id);
create index cold_intake_target_idx on cold_intake (target_id);

-- The catalogue: an object that is not in it has no effect, and one that is must be there.
create table cold_segment (
    segment_id uuid constraint cold_segment_pkey primary key,
    object_key text not null constraint cold_segment_key_key unique,
    object_version text,
    due_hour integer not null constraint cold_segment_bucket_fkey references cold_bucket,
    state text not null default 'live' constraint cold_segment_state_check check (state in ('live', 'promoted', 'retired')),
    first_id uuid not null,
    last_id uuid not null,
    jobs integer not null constraint cold_segment_jobs_check check (jobs > 0),
    bytes bigint not null,
    sha256 bytea not null constraint cold_segment_sha256_length check (octet_length(sha256) = 32),
    -- where each block begins, and with which id: see hourbell/cold/segment.py
    blocks bytea not null,
    -- jobs up to this id are in the hot tier
    promoted_through uuid,
    -- why it could not be read when it was last tried
    error text,
    created_at timestamptz not null,
    retired_at timestamptz,
    constraint cold_segment_ids_check check (first_id <= last_id)
);
create index cold_segment_hour_idx on cold_segment (due_hour, first_id) where state = 'live';
create index cold_segment_retired_idx on cold_segment (retired_at) where state = 'retired';

-- Whose jobs a segment took over from the intake, and for which targets. What was taken out since is in cold_tombstone.
create table cold_content (
    segment_id uuid not null constraint cold_content_segment_fkey references cold_segment on delete cascade,
    tenant_id uuid not null,
    target_id uuid not null,
    due_hour integer not null,
    jobs integer not null constraint cold_content_jobs_check check (jobs > 0),
    constraint cold_content_pkey primary key (segment_id, tenant_id, target_id)
);
create index cold_content_tenant_idx on cold_content (tenant_id, due_hour);
create index cold_content_target_idx on cold_content (target_id);

-- Left the cold tier for good: deleted, or taken to the hot tier by an edit. No copy of it in any segment counts.
create table cold_tombstone (
    job_id uuid constraint cold_tombstone_pkey primary key,
    due_hour integer not null constraint cold_tombstone_bucket_fkey references cold_bucket,
    tenant_id uuid not null,
    target_id uuid not null,
    -- false: it was still in the intake, so that no segment's content counts it
    frozen boolean not null,
    created_at timestamptz not null
);
create index cold_tombstone_hour_idx on cold_tombstone (due_hour, job_id);
create index cold_tombstone_tenant_idx on cold_tombstone (tenant_id, due_hour) where frozen;
create index cold_tombstone_target_idx on cold_tombstone (target_id) where frozen;

-- The names of cold jobs, until they leave the tier.
create table cold_name (
    tenant_id uuid not null,
    name text not null,
    job_id uuid not null constraint cold_name_job_key unique,
    constraint cold_name_pkey primary key (tenant_id, name)
);

-- Who freezes and who promotes: one at a time each.
create table cold_lease (
    name text constraint cold_lease_pkey primary key,
    owner text not null,
    token bigint not null,
    expires_at timestamptz not null
);

-- The update of one column stands for the right to lock a bucket's row.
grant select, insert, update (due_hour) on cold_bucket to hourbell_api;
grant select, insert, delete on cold_intake, cold_name to hourbell_api;
grant select, insert on cold_tombstone to hourbell_api;
grant select on cold_segment, cold_content to hourbell_api;

grant select, insert, update, delete on cold_bucket, cold_segment, cold_content, cold_lease to hourbell_loader;
grant select, delete on cold_intake, cold_tombstone, cold_name to hourbell_loader;
grant select, insert on job to hourbell_loader;
grant insert on due to hourbell_loader;

call separate_tenants(array['cold_intake', 'cold_content', 'cold_tombstone', 'cold_name']);
create policy job_of_loader on job to hourbell_loader using (true);
create policy due_of_loader on due to hourbell_loader using (true);
create policy cold_intake_of_loader on cold_intake to hourbell_loader using (true);
create policy cold_content_of_loader on cold_content to hourbell_loader using (true);
create policy cold_tombstone_of_loader on cold_tombstone to hourbell_loader using (true);
create policy cold_name_of_loader on cold_name to hourbell_loader using (true);

-- A segment is seen by the tenants that have jobs in it; hours are nobody's.
alter table cold_segment enable row level security;
create policy cold_segment_of_tenant on cold_segment to hourbell_api using (
    exists (select 1 from cold_content where cold_content.segment_id = cold_segment.segment_id)
);
create policy cold_segment_of_loader on cold_segment to hourbell_loader using (true);
alter table cold_bucket enable row level security;
create policy cold_bucket_of_all on cold_bucket to hourbell_api, hourbell_loader using (true);
