"""Schedules that others keep, read into jobs: what maps, what does not and why, before anything is created."""
