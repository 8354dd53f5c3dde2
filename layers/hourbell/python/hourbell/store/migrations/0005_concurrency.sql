-- Concurrency limits: a running run of a limited target holds one of its slots until it ends or its lease does.

alter table run add column limited boolean not null default false;
create index run_limited_idx on run (target_id) where limited and state = 'running';
-- Runs that wait for a slot, oldest first.
create index run_waiting_idx on run (target_id, fire_at, job_id) where reason in ('no_slot', 'slot_offered') and wake_at is not null;

alter table target add constraint target_concurrency_check check (max_concurrency >= 1);
grant update (tat) on target to hourbell_worker;
