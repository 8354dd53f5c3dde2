-- Moves the theoretical arrival times of locked targets.
update target
set tat = moved.tat
from unnest(%(target_ids)s::uuid[], %(tats)s::timestamptz[]) as moved (target_id, tat)
where target.target_id = moved.target_id
