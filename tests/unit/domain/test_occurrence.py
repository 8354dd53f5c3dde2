from datetime import timedelta
from uuid import UUID

from hourbell.domain.occurrence import window_offset_ms
from hourbell.domain.schedule import next_after

from tests.unit.domain.clocks import JOB, OTHER_JOB, cron, seeded, utc

HALF_HOUR = 30 * 60_000


def test_one_job_has_always_the_same_offset() -> None:
    assert window_offset_ms(JOB, HALF_HOUR) == window_offset_ms(JOB, HALF_HOUR) == 1_664_336
    assert window_offset_ms(OTHER_JOB, HALF_HOUR) != window_offset_ms(JOB, HALF_HOUR)


def test_no_window_no_offset() -> None:
    assert window_offset_ms(JOB, 0) == 0


def test_a_fleet_is_spread_evenly() -> None:
    rng = seeded("fleet")
    minutes = [0] * 30
    for _ in range(100_000):
        minutes[window_offset_ms(UUID(int=rng.getrandbits(128)), HALF_HOUR) // 60_000] += 1
    assert min(minutes) * 30 / 100_000 > 0.95
    assert max(minutes) * 30 / 100_000 < 1.05


def test_a_window_is_elapsed_time_across_a_clock_change() -> None:
    schedule = cron("45 1 * * *", "America/New_York")
    found = next_after(schedule, JOB, utc("2026-03-08T06:00Z"))
    assert found is not None
    fire_at = found.scheduled_for + timedelta(milliseconds=window_offset_ms(JOB, HALF_HOUR))
    assert fire_at - utc("2026-03-08T06:45Z") == timedelta(milliseconds=1_664_336)
