-- What users are told: written in the transaction in which it happens, and kept until the bus has it.

create table event_outbox (
    event_id uuid constraint event_outbox_pkey primary key default gen_random_uuid(),
    kind text not null constraint event_outbox_kind_check check (kind in ('run.dead', 'job.paused')),
    tenant_id uuid not null,
    job_id uuid not null,
    run_id uuid not null,
    scheduled_for timestamptz not null,
    target_id uuid not null,
    attempt integer not null,
    reason text,
    error text,
    recorded_at timestamptz not null,
    -- until when somebody is sending it
    taken_until timestamptz
);
create index event_outbox_recorded_idx on event_outbox (recorded_at);

call separate_tenants(array['event_outbox']);

grant insert on event_outbox to hourbell_api, hourbell_worker;
grant select, insert, update, delete on event_outbox to hourbell_scanner;

-- A worker pauses the job whose target answered 410, as the API pauses one.
grant insert, update on due to hourbell_worker;
