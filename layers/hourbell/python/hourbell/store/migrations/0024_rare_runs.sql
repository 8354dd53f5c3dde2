-- What people look for among runs is what few runs are: a list of these must not walk back through all that went well. A
-- run that succeeds never enters this index.
create index run_rare_idx on run (tenant_id, state, scheduled_for desc, job_id) where state in ('dead', 'cancelled', 'skipped');
