"""Postgres: the connection, the migrations, and one module per aggregate with its SQL in plain sight."""
