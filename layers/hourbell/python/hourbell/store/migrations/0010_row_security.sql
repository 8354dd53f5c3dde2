-- Row-level security: the API's role sees and writes the rows of the tenant that its transaction has named, and none
-- before it named one. Those who scan and work for all tenants see all rows. The owner is not restricted.

create function current_tenant() returns uuid language sql stable parallel safe
return nullif(current_setting('hourbell.tenant_id', true), '')::uuid;

-- Puts tables with a tenant_id under that rule; what a role may do there at all is up to its grants.
create procedure separate_tenants(tables text[]) language plpgsql as $$
declare
    name text;
begin
    foreach name in array tables loop
        execute format('alter table %I enable row level security', name);
        execute format(
            'create policy %I on %I to hourbell_api using (tenant_id = current_tenant())', name || '_of_tenant', name);
        execute format(
            'create policy %I on %I to hourbell_scanner, hourbell_worker using (true)', name || '_of_all', name);
    end loop;
end
$$;

call separate_tenants(array['tenant', 'api_key', 'target', 'job', 'due', 'run', 'missed', 'idempotent_request']);

-- An attempt is its run's.
alter table attempt enable row level security;
create policy attempt_of_tenant on attempt to hourbell_api using (
    exists (
        select 1 from run
        where run.run_id = attempt.run_id and run.scheduled_for = attempt.scheduled_for
    )
);
create policy attempt_of_all on attempt to hourbell_scanner, hourbell_worker using (true);

-- The authorizer looks for a key before anybody knows whose it is: a role of its own, which sees keys and nothing else.
revoke select on api_key from hourbell_api;
grant select on api_key to hourbell_authorizer;
create policy api_key_of_anyone on api_key to hourbell_authorizer using (true);
