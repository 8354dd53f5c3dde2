-- The audit in the order in which it was written: a time to the millisecond orders neither what one millisecond holds nor what two
-- machines with two clocks did to the same thing.

alter table audit add column place bigint not null generated always as identity;

create index audit_place_idx on audit (tenant_id, place);
create index audit_resource_place_idx on audit (tenant_id, resource_id, place);
drop index audit_resource_idx;
