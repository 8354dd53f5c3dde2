-- When the tenant's most overdue job should have been planned; null when none is overdue.
select oldest_due(%(now)s, %(per_shard)s) as next_run_at
