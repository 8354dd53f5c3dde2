-- Makes the day partitions from the first to the last day (UTC); answers how many days were missing.
select count(*) filter (where make_day_partitions(day::date))
from generate_series(%(first)s::date, %(last)s::date, interval '1 day') as day
