-- The attempts of these runs, in order; both arrays walk together, since the occurrence names the partition.
select
    attempt.run_id,
    attempt.number,
    attempt.started_at,
    attempt.finished_at,
    attempt.outcome,
    attempt.status_code,
    attempt.error,
    attempt.duration_ms
from unnest(%(run_ids)s::uuid[], %(scheduled_for)s::timestamptz[]) as wanted (run_id, scheduled_for)
inner join attempt on wanted.run_id = attempt.run_id and wanted.scheduled_for = attempt.scheduled_for
order by attempt.run_id, attempt.number
