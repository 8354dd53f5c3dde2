"""Logs and metrics.

Logs: the standard library's ``logging`` with ``extra={"action": …}``; Lambda's JSON log format writes the fields.
Metrics: CloudWatch Embedded Metric Format, one line on standard output, without a library at cold start
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping, Sequence

NAMESPACE = "Hourbell"

# CloudWatch takes at most this many values of one metric in a line.
VALUES_PER_LINE = 100

_UNITS = {"LatenessMs": "Milliseconds", "PullOldestSeconds": "Seconds", "EventOldestSeconds": "Seconds"}


def configure_logging() -> None:
    """Let INFO through; the handler is Lambda's own.

    httpx would log each URL that it calls, with what may be secret in it.
    """
    logging.getLogger().setLevel(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)


def emit(stage: str, metrics: Mapping[str, float | Sequence[float]]) -> None:
    """Write one line of metrics with the dimension ``Stage``; a sequence keeps its distribution (percentiles)."""
    values = {
        name: list(value)[:VALUES_PER_LINE] if isinstance(value, Sequence) else value
        for name, value in metrics.items()
        if not isinstance(value, Sequence) or value
    }
    if not values:
        return
    directive = {
        "Namespace": NAMESPACE,
        "Dimensions": [["Stage"]],
        "Metrics": [{"Name": name, "Unit": _UNITS.get(name, "Count")} for name in values],
    }
    line = {
        "_aws": {"Timestamp": round(time.time() * 1000), "CloudWatchMetrics": [directive]},
        "Stage": stage,
        **values,
    }
    sys.stdout.write(json.dumps(line) + "\n")
