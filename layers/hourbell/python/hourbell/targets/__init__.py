"""One module per target kind, and what every outgoing call needs."""
