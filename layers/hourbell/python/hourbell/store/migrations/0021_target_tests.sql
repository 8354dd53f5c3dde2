-- Tests of targets: calls that somebody asked for, outside any job. The API writes them, a worker makes each once.

create table target_test (
    test_id uuid constraint target_test_pkey primary key,
    tenant_id uuid not null constraint target_test_tenant_fkey references tenant,
    target_id uuid not null constraint target_test_target_fkey references target,
    -- JSON as it is sent, to the letter
    payload text not null,
    state text not null default 'waiting'
    constraint target_test_state_check check (state in ('waiting', 'running', 'finished')),
    outcome text,
    status_code integer,
    error text,
    duration_ms integer,
    sent jsonb,
    created_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz
);
create index target_test_tenant_idx on target_test (tenant_id, created_at);

grant select, insert on target_test to hourbell_api;
grant select, update on target_test to hourbell_worker;
call separate_tenants(array['target_test']);
