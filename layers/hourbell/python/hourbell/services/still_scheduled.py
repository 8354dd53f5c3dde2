"""Whether a run that was planned for an older schedule still has its place in the present one."""

from __future__ import annotations

from hourbell.domain.errors import HourbellError
from hourbell.store.executions import JudgedRun


def still_scheduled(run: JudgedRun) -> bool:
    """Whether the job's present schedule has this occurrence."""
    from hourbell.domain.schedule import includes, schedule_from_json

    try:
        return includes(schedule_from_json(run.job_schedule), run.job_id, run.scheduled_for)
    except (HourbellError, ValueError, LookupError):
        return False
