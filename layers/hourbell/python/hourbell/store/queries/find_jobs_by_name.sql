-- Jobs whose name is like this, in the order of the index of names: as many as are asked for, whichever.
select found.job_id
from searched_job as found
where
    found.tenant_id = %(tenant_id)s
    and found.state <> 'deleted'
    and found.name like %(name_pattern)s::text
order by found.name using ~<~ -- noqa: PRS
limit %(limit)s
