"""A schedule in plain words; the only importer of cron-descriptor, at the first cron expression it describes."""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never
from uuid import UUID

from hourbell.domain.schedule import At, Cron, Every, Schedule

_UNITS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000), ("millisecond", 1))


def describe(schedule: Schedule, *, job_id: UUID | None) -> str:
    """In English: "At 02:30 AM, only on Monday". ``job_id`` works out H; bounds and zone are left to the reader."""
    match schedule:
        case Cron():
            return _cron_text(schedule.expression.spelled_out(job_id), schedule.cron)
        case Every():
            return f"Every {_interval_text(schedule.every_ms)}"
        case At():
            return f"Once, at {schedule.text}"
    assert_never(schedule)


@lru_cache(maxsize=1_024)
def _cron_text(spelled_out: str, written: str) -> str:
    from cron_descriptor import ExpressionDescriptor, Options

    options = Options()
    # Not whatever this machine speaks.
    options.locale_code = "en_US"
    options.use_24hour_time_format = False
    try:
        return str(ExpressionDescriptor(spelled_out, options).get_description())
    except Exception:  # noqa: BLE001 - words are a courtesy: what we accept and it cannot read is shown as written
        return written


def _interval_text(milliseconds: int) -> str:
    words = []
    for unit, length in _UNITS:
        count, milliseconds = divmod(milliseconds, length)
        if count:
            words.append(f"{count} {unit}s" if count > 1 else f"1 {unit}")
    return words[0].removeprefix("1 ") if len(words) == 1 else ", ".join(words[:-1]) + f" and {words[-1]}"
