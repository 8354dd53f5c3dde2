-- Of the sampled jobs those that have all these terms: as many as are asked for, whichever.
with matching as materialized (
    select found.job_id
    from searched_job as found
    where
        found.tenant_id = %(tenant_id)s
        and found.state <> 'deleted'
        and found.sampled
        and found.own_terms @@ (
            select string_agg('''' || tenant_mark(%(tenant_id)s) || substr(term, 2), ' & ')::tsquery
            from unnest(%(terms)s::text[]) as term
        )
)

select matching.job_id from matching limit %(limit)s
