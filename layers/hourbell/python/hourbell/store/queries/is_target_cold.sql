-- Whether a cold job uses the target; the caller holds the target's lock.
select
    exists (select 1 from cold_intake as intake where intake.target_id = %(target_id)s)
    or exists (
        select 1
        from cold_content as content
        where content.target_id = %(target_id)s
        group by content.due_hour
        having
            sum(content.jobs) > (
                select count(*)
                from cold_tombstone as gone
                where gone.target_id = %(target_id)s and gone.due_hour = content.due_hour and gone.frozen
            )
    ) as used
