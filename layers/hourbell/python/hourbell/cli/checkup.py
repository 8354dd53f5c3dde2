"""What `hourbell doctor` makes of what it was told: pure judgements, each with what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from hourbell.client import Deployment, Stats

SHARDS = 128
# Clocks: beyond this, times that are typed here mean something else there.
SKEW_WARN, SKEW_FAIL = timedelta(seconds=2), timedelta(seconds=60)
# Partitions are made a week ahead, once a day.
DAYS_WARN = 3
# Scanners are started every minute.
SCAN_WARN, SCAN_FAIL = timedelta(minutes=3), timedelta(minutes=10)
DUE_WARN, DUE_FAIL = timedelta(seconds=90), timedelta(minutes=5)
LATENESS_WARN_MS = 1_000
WAITING_WARN = 1_000
# A message that is lost is sent again after 30 s: what waits longer than this for no reason on record finds no worker.
STUCK = timedelta(minutes=2)
# The queues of a stage, without its prefix.
QUEUES = ("shared", "shared-dead", "solo", "solo-dead")


class Level(StrEnum):
    """How bad it is. ``skip``: not looked at."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line. ``do``: what to do about it."""

    name: str
    level: Level
    said: str
    do: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """An alarm of the stage. ``tells``: its actions are enabled."""

    name: str
    rings: bool
    tells: bool


def check_clock(here: datetime, there: datetime, *, uncertainty: timedelta) -> Check:
    """``here``: halfway between question and answer."""
    skew = max(timedelta(0), abs(here - there) - uncertainty)
    level = Level.OK if skew < SKEW_WARN else Level.WARN if skew < SKEW_FAIL else Level.FAIL
    said = f"this machine and the API differ by {skew.total_seconds():.1f} s"
    return Check(name="clock", level=level, said=said, do="" if level is Level.OK else "set this machine's clock (NTP)")


def check_database_clock(found: Deployment) -> Check:
    """The database's clock decides what is due."""
    skew = abs(_instant(found["at"]) - _instant(found["database_at"]))
    level = Level.OK if skew < SKEW_WARN else Level.WARN
    said = f"API and database differ by {skew.total_seconds():.1f} s"
    return Check(name="database clock", level=level, said=said)


def check_schema(found: Deployment) -> Check:
    """The database must have every migration of the release that serves the API."""
    applied, expected = found["schema"]["applied"] or 0, found["schema"]["expected"] or 0
    said = f"migration {applied} of {expected}"
    if applied < expected:
        return Check(name="schema", level=Level.FAIL, said=said, do="deploy the Data stack, or invoke the migrator")
    if applied > expected:
        return Check(name="schema", level=Level.WARN, said=f"{said}: newer than the API", do="deploy the Api stack")
    return Check(name="schema", level=Level.OK, said=said)


def check_partitions(found: Deployment, *, today: date) -> Check:
    """Runs of a day without partitions of its own land in the default one: nothing is lost, all gets slow."""
    if found["partitions_through"] is None:
        return Check(name="partitions", level=Level.FAIL, said="there are none", do="invoke the partitioner")
    ahead = (date.fromisoformat(found["partitions_through"]) - today).days
    said = f"through {found['partitions_through']}, {ahead} days ahead"
    level = Level.FAIL if ahead < 0 else Level.WARN if ahead < DAYS_WARN else Level.OK
    do = "" if level is Level.OK else "invoke the partitioner, and look at its log"
    return Check(name="partitions", level=level, said=said, do=do)


def check_scanners(found: Deployment) -> Check:
    """Every shard must have been scanned a moment ago; old divisions of the shards do not matter."""
    now = _instant(found["database_at"])
    latest: dict[int, datetime] = {}
    for scanner in found["scanners"]:
        if scanner["renewed_at"] is not None:
            seen = _instant(scanner["renewed_at"])
            for shard in range(scanner["first_shard"], scanner["last_shard"] + 1):
                latest[shard] = max(seen, latest.get(shard, seen))
    if len(latest) < SHARDS:
        said = f"{SHARDS - len(latest)} of {SHARDS} shards were never scanned"
        return Check(name="scanners", level=Level.FAIL, said=said, do="look at the scanner's schedule and log")
    age = max(timedelta(0), now - min(latest.values()))
    level = Level.OK if age < SCAN_WARN else Level.WARN if age < SCAN_FAIL else Level.FAIL
    do = "" if level is Level.OK else "look at the scanner's schedule and log"
    return Check(name="scanners", level=level, said=f"every shard was scanned {_seconds(age)} ago", do=do)


def check_stats(found: Stats) -> list[Check]:
    """How the caller's own jobs and runs are doing."""
    return [_check_planning(found), _check_lateness(found), _check_dead(found), _check_waiting(found)]


def check_workers(stuck: int) -> Check:
    """``stuck``: how many runs nobody has started for longer than ``STUCK``."""
    if not stuck:
        return Check(name="workers", level=Level.OK, said="no run waits for a worker")
    said = f"{stuck:,} runs have waited for a worker for more than {_seconds(STUCK)}"
    return Check(name="workers", level=Level.FAIL, said=said, do="look at the workers' log and event source mappings")


def check_queues(depths: Mapping[str, int]) -> Check:
    """Each lane needs both its queues; the dead-letter queues are to be empty.

    The reaper sends what is lost, but somebody should know why it was.
    """
    if not depths:
        do = "is it the right stage, account and region?"
        return Check(name="queues", level=Level.FAIL, said="none was found", do=do)
    missing = [name for name in QUEUES if name not in depths]
    if missing:
        said, do = f"{', '.join(missing)}: not there", "deploy the Pipeline stack"
        return Check(name="queues", level=Level.FAIL, said=said, do=do)
    dead = any(depth for name, depth in depths.items() if name.endswith("-dead"))
    said = ", ".join(f"{name} {depth:,}" for name, depth in depths.items())
    do = "see docs/operations.md, dead letters" if dead else ""
    return Check(name="queues", level=Level.WARN if dead else Level.OK, said=said, do=do)


def check_alarms(alarms: Sequence[Alarm]) -> Check:
    """There are alarms, none rings, and none has been silenced."""
    if not alarms:
        said, do = "there are none: nobody would be woken", "deploy the Observability stack"
        return Check(name="alarms", level=Level.FAIL, said=said, do=do)
    ringing = [alarm.name for alarm in alarms if alarm.rings]
    if ringing:
        return Check(name="alarms", level=Level.FAIL, said=", ".join(ringing), do="see docs/operations.md")
    silent = [alarm.name for alarm in alarms if not alarm.tells]
    if silent:
        said, do = f"none rings, but these tell nobody: {', '.join(silent)}", "enable their actions"
        return Check(name="alarms", level=Level.WARN, said=said, do=do)
    return Check(name="alarms", level=Level.OK, said=f"none of {len(alarms)} rings")


def is_well(checks: Iterable[Check]) -> bool:
    """Whether nothing failed."""
    return all(check.level is not Level.FAIL for check in checks)


def _check_planning(found: Stats) -> Check:
    age_ms = found["oldest_due_age_ms"]
    if age_ms is None:
        return Check(name="planning", level=Level.OK, said="nothing is overdue")
    age = timedelta(milliseconds=age_ms)
    level = Level.OK if age < DUE_WARN else Level.WARN if age < DUE_FAIL else Level.FAIL
    do = "" if level is Level.OK else "look at the scanner: is it running, and does it come to an end?"
    return Check(name="planning", level=level, said=f"a job is overdue for {_seconds(age)}", do=do)


def _check_lateness(found: Stats) -> Check:
    late = found["lateness_ms"]["p99"]
    if late is None:
        return Check(name="lateness", level=Level.OK, said="no run has started in the last hour")
    level = Level.OK if late <= LATENESS_WARN_MS else Level.WARN
    do = "" if level is Level.OK else "look at the lanes' depth, and at the workers' concurrency"
    return Check(name="lateness", level=level, said=f"p99 {late:,} ms in the last hour", do=do)


def _check_dead(found: Stats) -> Check:
    dead = found["runs"]["dead"]
    level = Level.WARN if dead else Level.OK
    do = "hourbell runs list --state dead, then hourbell runs redrive" if dead else ""
    return Check(name="dead runs", level=level, said=f"{dead:,} in the last hour", do=do)


def _check_waiting(found: Stats) -> Check:
    waiting = sum(found["queues"].values())
    level = Level.WARN if waiting > WAITING_WARN else Level.OK
    do = "look at the workers: are they running, and is a target paused or slow?" if level is Level.WARN else ""
    return Check(name="waiting", level=level, said=f"{waiting:,} runs wait although their time has come", do=do)


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _seconds(age: timedelta) -> str:
    return f"{age.total_seconds():,.0f} s"
