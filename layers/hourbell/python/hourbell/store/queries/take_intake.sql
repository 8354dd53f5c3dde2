-- Takes the next records out of an hour's intake, as many as fit and at least one; the caller puts them into the hot tier in the same transaction.
with measured as (
    select
        next.job_id,
        sum(octet_length(next.record)) over (order by next.job_id) - octet_length(next.record) as bytes_before
    from (
        select
            intake.job_id,
            intake.record
        from cold_intake as intake
        where intake.due_hour = %(due_hour)s
        order by intake.job_id
        limit %(limit)s
    ) as next
)

delete from cold_intake
using measured
where cold_intake.job_id = measured.job_id and measured.bytes_before < %(most_bytes)s
returning cold_intake.record
