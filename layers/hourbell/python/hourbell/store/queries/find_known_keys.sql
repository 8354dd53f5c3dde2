-- Those of these objects that the catalogue knows, in whatever state.
select segment.object_key
from cold_segment as segment
where segment.object_key = any(%(keys)s::text[])
