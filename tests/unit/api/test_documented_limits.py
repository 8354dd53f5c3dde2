"""The limits in docs/api.md are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hourbell.api import answer_once, calls, job_search, models, run_control, strict_json
from hourbell.domain import limits
from hourbell.services import ask_target_test, control_runs
from hourbell.targets import headers, url_guard

PAGE = (Path(__file__).parents[3] / "docs" / "api.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Limits")[2].partition("\n\nPages of")[0]
ROWS = dict(re.findall(r"^\| (.+?) \| (.+) \|$", TABLE, re.MULTILINE))

DAY_MS = 86_400_000


def kib(size: int) -> str:
    return f"{size // 1024} KiB"


def mib(size: int) -> str:
    return f"{size // 1024**2} MiB"


def days(milliseconds: int) -> str:
    return f"{milliseconds // DAY_MS} day"


LIMITS = {
    "body": [mib(calls.MAX_BODY_BYTES), mib(calls.MAX_BATCH_BODY_BYTES)],
    "JSON": [f"{strict_json.MAX_DEPTH} levels", f"{strict_json.MAX_INTEGER_DIGITS:,} digits"],
    "query": [f"{calls.MAX_QUERY_FIELDS} parameters", str(job_search.MAX_QUERY_LENGTH), str(job_search.MAX_TAG_LENGTH)],
    "`Idempotency-Key`": [str(answer_once.MAX_LENGTH)],
    "page": [f"{calls.MAX_LIMIT} items"],
    "payload": [kib(limits.PAYLOAD_MAX_BYTES)],
    "progress, result of a run": [
        kib(run_control.PROGRESS_MAX_BYTES),
        kib(run_control.RESULT_MAX_BYTES),
        f"{run_control.ERROR_MAX_CHARACTERS} characters",
    ],
    "name, note": [f"{limits.NAME_MAX_LENGTH}, {limits.NOTE_MAX_LENGTH} characters"],
    "tags of a job": [f"{limits.TAGS_MAX};"],
    "`cron`, `timezone`": [f"{limits.CRON_MAX_LENGTH:,}, {limits.ZONE_MAX_LENGTH} characters"],
    "`every`": [f"{limits.EVERY_MIN_MS // 1000} s", days(limits.EVERY_MAX_MS)],
    "`exclude`, `max_runs`": [f"{limits.EXCLUDE_MAX_DATES} dates", f"{limits.MAX_RUNS_LIMIT:,} runs"],
    "`window`, `timeout`": [f"P{limits.WINDOW_MAX_MS // DAY_MS}D", f"PT{limits.TIMEOUT_MAX_MS // 60_000}M"],
    "`max_attempts`; `initial` and `maximum`; `max_age`": [
        f"{limits.MAX_ATTEMPTS_LIMIT}; {days(limits.RETRY_DELAY_MAX_MS)}; {days(limits.RETRY_MAX_AGE_MS)}"
    ],
    "times": [f"{limits.MIN_INSTANT.year} to {limits.MAX_INSTANT.year}"],
    "occurrences of a preview": [f"{limits.PREVIEW_MAX:,}"],
    "jobs of a batch": [f"{limits.BATCH_MAX_JOBS:,}"],
    "occurrences of a backfill, runs of a redrive": [f"{limits.BACKFILL_MAX:,}", f"{control_runs.REDRIVE_LIMIT:,}"],
    "occurrences ahead that are skipped": [f"{limits.SKIPS_MAX:,}"],
    "runs fetched at once, `wait` for them": [f"{limits.LEASE_MAX_RUNS}, `PT{limits.LEASE_MAX_WAIT_MS // 1000}S`"],
    "URL of a target, its headers": [
        f"{url_guard.MAX_URL_LENGTH:,} characters",
        f"{models.MAX_HEADERS} of {headers.VALUE_MAX_LENGTH:,} characters",
    ],
    "tests of targets": [f"{ask_target_test.PER_MINUTE} a minute"],
    "`grace` of a key": [days(limits.KEY_GRACE_MAX_MS)],
    "quotas": [f"{limits.QUOTA_MAX:,}"],
    "errors told at once": [str(models.MAX_ERRORS)],
}
OF_THE_STAGE = "requests of a stage"


@pytest.mark.parametrize("what", LIMITS)
def test_a_documented_limit_is_the_one_of_the_code(what: str):
    for text in LIMITS[what]:
        assert re.search(rf"(?<![\d,]){re.escape(text)}", ROWS[what]), f"{text} is not in: {ROWS[what]}"


def test_every_limit_of_the_page_is_held():
    assert set(ROWS) - {"what", "---", OF_THE_STAGE} == set(LIMITS)
