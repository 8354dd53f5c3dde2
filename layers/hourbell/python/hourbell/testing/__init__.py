"""Hourbell in a test: the engine itself on an embedded PostgreSQL, a clock that the test sets, and no waiting.

    with throwaway_server() as server, server.engine(now="2027-05-09T12:00:00Z") as engine:
        engine.add_target("billing", settle_invoices)
        engine.client.create_job({"schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": "billing"})
        runs = engine.run_until("2027-05-10T02:00:00Z")

Nothing is imitated. Jobs are made by the API's own code behind ``hourbell.client``, claimed by the scanner's, leased
and executed by the worker's, recovered by the reaper's. Only what is around them is replaced: the lanes are a list, the
clock of the database is a row, and a target may be a Python function. Needs ``hourbell[local]``.
"""

from hourbell.testing.clock import Clock
from hourbell.testing.engine import Engine
from hourbell.testing.functions import ReceivedCall
from hourbell.testing.server import Server, throwaway_server

__all__ = ["Clock", "Engine", "ReceivedCall", "Server", "throwaway_server"]
