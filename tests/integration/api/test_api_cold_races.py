"""Edits and deletes of cold jobs against the freezer, the loader and each other: one place, the newest settings.

The API reads a record before its transaction. Whatever happens between the two, happens here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from hourbell.api.app import Application
from hourbell.api.calls import Api, Call
from hourbell.cold.objects import ColdObjects
from hourbell.domain.clock import zone_data_version
from hourbell.domain.ids import decode
from hourbell.domain.instants import format_instant
from hourbell.services import freeze_jobs as freezer
from hourbell.services.jobs import Scheduler
from hourbell.services.promote_jobs import promote_jobs
from hourbell.store.connection import Database

from tests.integration.api.conftest import HORIZON, RULES, Client, scan
from tests.s3 import versioned_bucket
from tests.seeds import T0, RecordingLanes

FAR = T0 + timedelta(hours=50)
AT_FAR = {"at": format_instant(FAR)}
SOON = FAR - timedelta(hours=1)


@pytest.fixture
def objects() -> Iterator[ColdObjects]:
    with versioned_bucket() as objects:
        yield objects


class Loader:
    """Freezer and loader, by their own role, with a connection of their own."""

    def __init__(self, database: Database, objects: ColdObjects) -> None:
        self._database = database
        self._objects = objects
        self._ticks = 0

    def freeze(self) -> None:
        frozen = freezer.freeze_jobs(self._database, self._objects, owner=self._owner(), time_left=lambda: True, now=T0)
        assert not frozen.held_elsewhere

    def promote(self) -> None:
        promoted = promote_jobs(
            self._database,
            self._objects,
            owner=self._owner(),
            zone_data=zone_data_version(),
            time_left=lambda: True,
            now=SOON,
            chunk=3,
        )
        assert (promoted.broken, promoted.unread) == ([], 0)

    def _owner(self) -> str:
        self._ticks += 1
        return f"test/{self._ticks}"


@pytest.fixture
def loader(postgres, database_name, objects, monkeypatch) -> Iterator[Loader]:
    monkeypatch.setattr(freezer, "is_to_freeze", lambda *_: True)
    monkeypatch.setattr(freezer, "FEW", 1)
    with closing(Database(postgres.conninfo(database=database_name, user="hourbell_loader"))) as database:
        yield Loader(database, objects)


@pytest.fixture
def other(client: Client, postgres, database_name, objects) -> Iterator[Client]:
    """The same tenant in another execution environment."""
    with closing(Database(postgres.conninfo(database=database_name, user="hourbell_api"))) as database:
        scheduler = Scheduler(database=database, lanes=RecordingLanes(), horizon=HORIZON, cold=objects)
        api = Api(scheduler=scheduler, stage_key=lambda: b"stage secret", target_rules=lambda: RULES)
        yield Client(Application(api), client.tenant_id)


def between(monkeypatch, happens: Callable[[], object]) -> None:
    """After the record is read, and before the transaction begins; once."""
    addressed, done = Call.addressed, []

    def interrupted(self: Call, database: Database) -> Call:
        found = addressed(self, database)
        if not done:
            done.append(True)
            assert found.cold_job is not None
            happens()
        return found

    monkeypatch.setattr(Call, "addressed", interrupted)


def hot(admin) -> list[Any]:
    return admin.execute(
        "select job.payload, job.state, due.next_run_at = 'infinity' from job left join due using (job_id)"
    ).fetchall()


def ring(client: Client, loader: Loader, admin) -> list[Any]:
    """What is planned when the time has come, however it got there."""
    loader.freeze()
    loader.promote()
    for moment in (FAR - timedelta(seconds=60), FAR):
        scan(client, moment)
    return admin.execute(
        "select run.scheduled_for, job.payload from run join job using (job_id) where origin = 'schedule'"
    ).fetchall()


MEANWHILE = {
    "frozen": lambda loader: loader.freeze(),
    "promoted": lambda loader: loader.promote(),
    "frozen and promoted": lambda loader: (loader.freeze(), loader.promote()),
}


@pytest.fixture(params=MEANWHILE)
def moved(request, monkeypatch, loader) -> None:
    between(monkeypatch, lambda: MEANWHILE[request.param](loader))


@pytest.mark.parametrize("first", ["intake", "segment"])
class TestMovedMeanwhile:
    @pytest.fixture
    def path(self, client: Client, loader, first) -> str:
        path = f"/v1/jobs/{client.job(AT_FAR, name='far', payload=1)['id']}"
        if first == "segment":
            loader.freeze()
        return path

    def test_an_edit_holds(self, path, moved, client: Client, loader, admin):
        edited = client.patch(path, {"payload": 2}, headers={"If-Match": '"1"'})

        assert (edited.status, edited.json["tier"], edited.json["version"]) == (200, "hot", 2)
        assert ring(client, loader, admin) == [(FAR, "2")]

    def test_a_delete_holds(self, path, moved, client: Client, loader, admin):
        assert client.delete(path).status == 204

        assert client.get(path).status == 404
        assert ring(client, loader, admin) == []
        assert client.job(AT_FAR, name="far")["name"] == "far"

    def test_a_pause_holds(self, path, moved, client: Client, loader, admin):
        assert client.post(f"{path}/pause").json["state"] == "paused"

        assert ring(client, loader, admin) == []
        assert hot(admin) == [("1", "paused", True)]

    def test_a_trigger_is_made_once_and_its_time_still_comes(self, path, moved, client: Client, loader, admin):
        assert client.post(f"{path}/trigger").status == 202

        assert ring(client, loader, admin) == [(FAR, "1")]
        assert admin.execute("select count(*) from run where origin <> 'schedule'").fetchall() == [(1,)]

    def test_a_look_finds_it(self, path, moved, client: Client):
        found = client.get(path)

        assert (found.status, found.json["payload"]) == (200, 1)


def test_who_comes_second_finds_it_deleted(client: Client, other: Client, loader, admin, monkeypatch):
    path = f"/v1/jobs/{client.job(AT_FAR)['id']}"
    between(monkeypatch, lambda: other.delete(path))

    assert client.patch(path, {"payload": 2}).status == 404
    assert ring(client, loader, admin) == []


def test_two_deletes_are_one(client: Client, other: Client, loader, admin, monkeypatch):
    path = f"/v1/jobs/{client.job(AT_FAR)['id']}"
    between(monkeypatch, lambda: other.delete(path))

    assert client.delete(path).status == 404
    assert admin.execute("select count(*) from cold_tombstone").fetchall() == [(1,)]


def test_who_comes_second_finds_it_edited(client: Client, other: Client, loader, admin, monkeypatch):
    path = f"/v1/jobs/{client.job(AT_FAR, payload=1)['id']}"
    between(monkeypatch, lambda: other.patch(path, {"payload": 2}))

    assert client.patch(path, {"payload": 3}, headers={"If-Match": '"1"'}).status == 412
    assert client.patch(path, {"tags": {"a": "b"}}).json["version"] == 3
    assert ring(client, loader, admin) == [(FAR, "2")]


def test_edits_and_deletes_against_both_at_once(client: Client, other: Client, loader, admin):
    """Two environments change every job while it is frozen and promoted."""
    made = [client.job(AT_FAR, payload=n)["id"] for n in range(24)]

    def change() -> None:
        for n, job_id in enumerate(made):
            path = f"/v1/jobs/{job_id}"
            answer = (
                other.delete(path)
                if n % 3 == 0
                else other.patch(path, {"payload": -n})
                if n % 3 == 1
                else other.get(path)
            )
            assert answer.status in (200, 204), (n, answer.text)

    def move() -> None:
        loader.freeze()
        loader.promote()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(change), pool.submit(move)]:
            done.result()

    expected = {decode("job", one): str(-n if n % 3 == 1 else n) for n, one in enumerate(made) if n % 3}
    assert len(ring(client, loader, admin)) == len(expected)
    fired = admin.execute("select job.job_id, job.payload from run join job using (job_id)").fetchall()
    assert sorted(fired) == sorted(expected.items())


def test_a_create_that_meets_the_promotion_of_its_hour_is_hot_and_rings(client: Client, other: Client, loader, admin):
    """The hour is cold by the clock of the API, and the loader has begun with it already."""
    client.job(AT_FAR, payload=1)
    loader.promote()

    late = other.job(AT_FAR, payload=2)

    assert late["tier"] == "hot"
    assert sorted(ring(client, loader, admin)) == [(FAR, "1"), (FAR, "2")]


def test_of_creates_of_one_name_in_two_tiers_one_wins(client: Client, other: Client, admin):
    bodies = [{"name": "x", "target": "sink", "schedule": schedule} for schedule in (AT_FAR, {"every": "1h"})]

    with ThreadPoolExecutor(2) as pool:
        answers = list(
            pool.map(lambda pair: pair[0].post("/v1/jobs", pair[1]), zip((client, other), bodies, strict=True))
        )

    assert sorted(answer.status for answer in answers) == [201, 409]
    assert len(client.get("/v1/jobs", query={"name": "x"}).json["items"]) == 1
