"""Use cases: the only place where store, lanes and targets meet."""
