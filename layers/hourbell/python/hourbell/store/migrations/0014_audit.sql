-- Who changed what: written in the transaction of the change, deleted after its retention.

create table audit (
    tenant_id uuid not null constraint audit_tenant_fkey references tenant,
    -- begins with the time, so that it orders the entries
    audit_id uuid not null,
    resource_kind text not null,
    resource_id uuid not null,
    action text not null,
    -- null: not through the API
    key_id uuid,
    request_id text,
    -- [{"field": …, "old": …, "new": …}], long values cut
    changes jsonb not null,
    recorded_at timestamptz not null,
    constraint audit_pkey primary key (tenant_id, audit_id)
);
create index audit_resource_idx on audit (tenant_id, resource_id, audit_id);
create index audit_recorded_idx on audit using brin (recorded_at);

grant select, insert on audit to hourbell_api;
call separate_tenants(array['audit']);
