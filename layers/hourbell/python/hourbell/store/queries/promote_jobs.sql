-- Puts cold jobs into the hot tier, one record a line; those that left the cold tier, or are hot already, are passed over. A name that somebody else has by now is not kept: the job counts for more.
with record as (
    select r.*
    from unnest(string_to_array(%(records)s, chr(10))) as line (text)
    cross join
        lateral json_to_record(line.text::json)
            as r (
                job_id uuid, tenant_id uuid, target_id uuid, name text, schedule text, payload text, window_ms bigint,
                catch_up text, overlap text, retry text, timeout_ms integer, tags text, version integer,
                scheduled_for timestamptz, fire_at timestamptz, created_at timestamptz
            )
    where not exists (select 1 from cold_tombstone as gone where gone.job_id = r.job_id)
),

named as (
    select
        record.job_id,
        row_number() over (partition by record.tenant_id, record.name order by record.job_id) as namesake
    from record
    where record.name is not null
),

inserted as (
    insert into job (
        job_id, tenant_id, name, target_id, state, schedule, payload, window_ms, catch_up, overlap, retry,
        timeout_ms, tags, version, created_at, updated_at
    )
    select
        record.job_id, record.tenant_id,
        case
            when record.name is null then null
            when
                record.job_id in (select named.job_id from named where named.namesake > 1)
                or exists (
                    select 1 from job as other
                    where
                        other.tenant_id = record.tenant_id
                        and other.name = record.name
                        and other.state <> 'deleted'
                )
                then null
            else record.name
        end,
        record.target_id, 'active', record.schedule, record.payload, record.window_ms, record.catch_up::jsonb,
        record.overlap, record.retry::jsonb, record.timeout_ms, record.tags::jsonb, record.version,
        record.created_at, record.created_at
    from record
    on conflict (job_id) do nothing
    returning job.job_id
),

placed as (
    insert into due (job_id, tenant_id, shard_id, next_run_at, scheduled_for)
    select
        record.job_id, record.tenant_id,
        mod(get_byte(sha256(convert_to('shard', 'UTF8') || uuid_send(record.job_id)), 0), 128),
        record.fire_at, record.scheduled_for
    from record
    -- "is true" keeps the planner, which expects ten lines, from comparing each with each: this way it hashes them
    where (record.job_id in (select inserted.job_id from inserted)) is true
    on conflict do nothing
),

unnamed as (
    delete from cold_name
    using record
    where record.name is not null and cold_name.job_id = record.job_id
)

select count(*) as jobs
from inserted
