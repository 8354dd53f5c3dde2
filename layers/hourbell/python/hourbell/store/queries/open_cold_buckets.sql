-- Makes the buckets that are missing, in the order of their hours; those that are there stay as they are.
insert into cold_bucket (due_hour)
select wanted.due_hour
from unnest(%(due_hours)s::integer[]) as wanted (due_hour)
order by wanted.due_hour
on conflict (due_hour) do nothing
