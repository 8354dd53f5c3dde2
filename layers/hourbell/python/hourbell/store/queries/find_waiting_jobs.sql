-- Jobs that wait in the hot table for a time before this one; null where that is too many to read.
select waiting_jobs(%(before)s, %(most)s)
