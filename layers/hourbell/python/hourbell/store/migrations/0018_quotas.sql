-- Quotas of tenants, what counts against them, and who may set them. Where a quota is null there is no limit.

alter table tenant
add column max_jobs bigint constraint tenant_max_jobs_check check (max_jobs >= 0),
add column max_runs_per_minute integer constraint tenant_max_runs_check check (max_runs_per_minute >= 1),
add column max_requests_per_second integer constraint tenant_max_requests_check check (max_requests_per_second >= 1),
add column version integer not null default 1,
add column updated_at timestamptz not null default now();

-- How many jobs of a tenant are active or paused, cold ones among them: this, and what stands in job_change.
create table tenant_usage (
    tenant_id uuid constraint tenant_usage_pkey primary key constraint tenant_usage_tenant_fkey references tenant,
    jobs bigint not null
) with (fillfactor = 50);

-- Changes of that number, each written beside the change itself: nobody waits for a counter. Whoever needs the number
-- adds them up and takes them away; so does the reaper.
create table job_change (
    tenant_id uuid not null,
    jobs integer not null
);
create index job_change_tenant_idx on job_change (tenant_id);

-- By tenant and minute of the clock, how many occurrences were given a moment in it.
create table tenant_minute (
    tenant_id uuid not null,
    minute timestamptz not null,
    runs integer not null,
    constraint tenant_minute_pkey primary key (tenant_id, minute)
);

-- The theoretical arrival time of a tenant's next request (GCRA). Unlogged: a crash may forget it, and no request waits for a disk.
create unlogged table tenant_request (
    tenant_id uuid constraint tenant_request_pkey primary key,
    tat timestamptz not null
);

-- A job counts from its creation, in whichever tier, to its end. Promotion, which the loader does, changes nothing.
create function note_jobs_inserted() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into job_change (tenant_id, jobs)
    select tenant_id, count(*) from after
    where state in ('active', 'paused') and session_user <> 'hourbell_loader' group by tenant_id;
    return null;
end
$$;

create function note_cold_jobs_accepted() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into job_change (tenant_id, jobs) select tenant_id, count(*) from after group by tenant_id;
    return null;
end
$$;

-- Deleted, or taken to the hot tier by an edit, where it is inserted and counts again.
create function note_cold_jobs_taken() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into job_change (tenant_id, jobs) select tenant_id, -count(*) from after group by tenant_id;
    return null;
end
$$;

create function note_jobs_updated() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
    insert into job_change (tenant_id, jobs)
    select tenant_id, sum(jobs)
    from (
        select tenant_id, 1 as jobs from after where state in ('active', 'paused')
        union all
        select tenant_id, -1 from before where state in ('active', 'paused')
    ) as changes
    group by tenant_id
    having sum(jobs) <> 0;
    return null;
end
$$;

-- From here on nobody writes jobs until the count below is committed.
create trigger job_inserted after insert on job
referencing new table as after for each statement execute function note_jobs_inserted();
create trigger job_updated after update on job
referencing old table as before new table as after for each statement execute function note_jobs_updated();

create trigger cold_job_accepted after insert on cold_intake
referencing new table as after for each statement execute function note_cold_jobs_accepted();
create trigger cold_job_taken after insert on cold_tombstone
referencing new table as after for each statement execute function note_cold_jobs_taken();

insert into tenant_usage (tenant_id, jobs)
select tenant_id, sum(jobs)
from (
    select tenant_id, 1 as jobs from job where state in ('active', 'paused')
    union all
    select tenant_id, 1 from cold_intake
    union all
    select tenant_id, jobs from cold_content
    union all
    select tenant_id, -1 from cold_tombstone where frozen
) as counted
group by tenant_id;

-- Operators see and make tenants, and their first keys; the transaction says so (store/queries/act_as_operator.sql).
create function is_operator() returns boolean language sql stable parallel safe
return coalesce(current_setting('hourbell.operator', true), '') = 'on';

call separate_tenants(array['tenant_usage', 'job_change', 'tenant_minute', 'tenant_request']);
create policy tenant_of_operator on tenant to hourbell_api using (is_operator());
create policy tenant_usage_of_operator on tenant_usage for select to hourbell_api using (is_operator());
create policy job_change_of_operator on job_change for select to hourbell_api using (is_operator());
create policy api_key_of_operator on api_key for insert to hourbell_api with check (is_operator());
create policy audit_of_operator on audit for insert to hourbell_api with check (is_operator());
create policy tenant_of_anyone on tenant for select to hourbell_authorizer using (true);

grant insert, update (max_jobs, max_runs_per_minute, max_requests_per_second, version, updated_at) on tenant to hourbell_api;
grant select, insert, update on tenant_usage, tenant_request to hourbell_api;
grant select, delete on job_change to hourbell_api;
grant select, insert, update, delete on tenant_minute to hourbell_api;
grant select (tenant_id, max_requests_per_second) on tenant to hourbell_authorizer;

-- The update of one column stands for the right to lock a row.
grant update (updated_at) on tenant to hourbell_scanner;
grant select, insert, update on tenant_usage to hourbell_scanner;
grant select, delete, update (jobs) on job_change to hourbell_scanner;
grant select, insert, update, delete on tenant_minute to hourbell_scanner;
