-- Takes a job out of the cold tier for good, wherever its copies are; answers it unless it left before. The caller holds its bucket's lock.
with removed as (
    delete from cold_intake
    where cold_intake.job_id = %(job_id)s and cold_intake.tenant_id = %(tenant_id)s
    returning cold_intake.job_id
),

unnamed as (
    delete from cold_name
    where cold_name.job_id = %(job_id)s and cold_name.tenant_id = %(tenant_id)s
)

insert into cold_tombstone (job_id, due_hour, tenant_id, target_id, frozen, created_at)
select
    %(job_id)s, %(due_hour)s, %(tenant_id)s, %(target_id)s,
    not exists (select 1 from removed), %(now)s
where not exists (select 1 from job where job.job_id = %(job_id)s)
on conflict (job_id) do nothing
returning cold_tombstone.job_id
