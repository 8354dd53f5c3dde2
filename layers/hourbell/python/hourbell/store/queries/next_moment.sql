-- The next instant after this one at which the engine has something to do: a job is due, or a run must be looked at.
select least(
    (select min(due.next_run_at) from due where due.next_run_at > %(after)s),
    (select min(run.wake_at) from run where run.wake_at > %(after)s)
)
