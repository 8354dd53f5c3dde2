-- Jobs with a run for an occurrence before this one that has not ended; null where that is too many to read.
select unfinished_jobs(%(before)s, %(most)s)
