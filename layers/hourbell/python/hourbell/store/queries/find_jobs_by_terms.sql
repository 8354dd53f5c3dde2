-- Jobs that have all these terms, by the index of terms: as many as are asked for, whichever.
-- The query is made where the planner does not see it, so that no guess of how many have them leads elsewhere.
with matching as materialized (
    select found.job_id
    from searched_job as found
    where
        found.tenant_id = %(tenant_id)s
        and found.state <> 'deleted'
        and found.own_terms @@ (
            select string_agg('''' || tenant_mark(%(tenant_id)s) || substr(term, 2), ' & ')::tsquery
            from unnest(%(terms)s::text[]) as term
        )
)

select matching.job_id from matching limit %(limit)s
