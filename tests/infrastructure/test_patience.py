"""Who waits for S3 is done, or has given up, before the lease ends, the function's time, or the caller's patience."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hourbell.cold.patience import REQUEST, REQUEST_SECONDS, TICK
from hourbell.store.cold_leases import TTL

from cdk.settings import STAGES

ROOT = Path(__file__).resolve().parents[2]
# Whatever is done between two renewals besides waiting for S3: one segment made or read, one chunk written.
WORK_SECONDS = 15


def test_an_operation_ends_long_before_the_lease_does():
    assert TICK.seconds + WORK_SECONDS < TTL.total_seconds() / 1.5


@pytest.mark.parametrize("function", ["freezer", "loader"])
def test_what_is_left_of_an_invocation_is_enough_for_one_more_operation(function: str):
    handler = (ROOT / "functions" / function / "handler.py").read_text()
    (reserve,) = re.findall(r"^RESERVE_MS = ([\d_]+)$", handler, re.MULTILINE)
    shortest = min(stage.functions[function].timeout_seconds for stage in STAGES.values())
    assert TICK.seconds < int(reserve) / 1_000 < shortest


def test_the_api_answers_before_its_function_ends():
    timeouts = {stage.functions["api"].timeout_seconds for stage in STAGES.values()}
    assert max(timeouts) <= 29
    assert REQUEST.seconds < REQUEST_SECONDS < min(timeouts) - 10
