-- What requests with an Idempotency-Key were answered, for a day.

create table idempotent_request (
    tenant_id uuid not null constraint idempotent_request_tenant_fkey references tenant,
    key text not null,
    request_sha256 bytea not null,
    status smallint not null,
    headers jsonb not null,
    body text not null,
    created_at timestamptz not null,
    constraint idempotent_request_pkey primary key (tenant_id, key),
    constraint idempotent_request_key_length check (length(key) between 1 and 255)
);
create index idempotent_request_created_idx on idempotent_request (created_at);

grant select, insert, update on idempotent_request to hourbell_api;
