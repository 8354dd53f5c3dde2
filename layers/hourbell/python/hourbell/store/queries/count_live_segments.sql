-- How many segments are live.
select count(*) as segments
from cold_segment as segment
where segment.state = 'live'
