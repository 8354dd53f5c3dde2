"""``hourbell stats``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hourbell.cli.connection import connect
from hourbell.cli.output import AsJson, count, print_fields, print_json


def stats(*, as_json: AsJson = False) -> None:
    """Show how many jobs and runs are in which state, what waits, and how late runs start."""
    with connect() as client:
        found = client.stats()
    if as_json:
        return print_json(found)
    runs = dict(found["runs"])
    due = found["oldest_due_age_ms"]
    print_fields(
        {
            "jobs": _counts(found["jobs"]),
            "oldest due": "nothing is overdue" if due is None else f"overdue for {due / 1000:,.1f} s",
            f"runs since {runs.pop('since')}": _counts(runs),
            "lateness": _lateness(found["lateness_ms"]),
            "waiting": _counts(found["queues"]),
            "cold": _cold(found["cold"]),
        }
    )
    return None


def _counts(counts: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{value:,} {name}" for name, value in counts.items() if name != "capped" and value)
    return f"{shown or 'none'}{' (not all were counted)' if counts.get('capped') else ''}"


def _cold(cold: Mapping[str, Any]) -> str:
    hours = cold["hours"]
    if not hours:
        return "none"
    more = " and more later" if cold["capped"] else ""
    jobs = sum(hour["jobs"] for hour in hours)
    return f"{count(jobs, 'job')} in {count(len(hours), 'hour')} from {hours[0]['hour']}{more}"


def _lateness(percentiles: Mapping[str, int | None]) -> str:
    shown = [f"{name} {value:,} ms" for name, value in percentiles.items() if value is not None]
    return ", ".join(shown) or "no run has started"
