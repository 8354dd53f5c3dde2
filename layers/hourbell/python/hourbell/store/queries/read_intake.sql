-- The next records of an hour's intake, in the order of their ids, as many as fit and at least one; without locks: what becomes of them meanwhile shows when they are taken over.
select
    measured.job_id,
    measured.record
from (
    select
        next.job_id,
        next.record,
        sum(octet_length(next.record)) over (order by next.job_id) - octet_length(next.record) as bytes_before
    from (
        select
            intake.job_id,
            intake.record
        from cold_intake as intake
        where intake.due_hour = %(due_hour)s and (%(after_id)s::uuid is null or intake.job_id > %(after_id)s::uuid)
        order by intake.job_id
        limit %(limit)s
    ) as next
) as measured
where measured.bytes_before < %(most_bytes)s
order by measured.job_id
