"""The pure room: schedules, clock rules, policies, ids. No I/O, no vendor, no clock of its own."""
