"""Two environments at once: edits against edits, and against a scanner that is planning the same job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from hourbell.api.app import Application
from hourbell.api.calls import Api
from hourbell.domain.instants import format_instant
from hourbell.services.claim_due import claim_shards
from hourbell.services.jobs import Scheduler
from hourbell.store.connection import Database

from tests.integration.api.conftest import HORIZON, RULES, Client, wait_for_a_waiter
from tests.seeds import T0, RecordingLanes

SOON = format_instant(T0 + timedelta(seconds=200))


@pytest.fixture
def clients(client: Client, postgres, database_name) -> Iterator[list[Client]]:
    """The same tenant in eight execution environments, each with a connection of its own."""
    opened = [Database(postgres.conninfo(database=database_name, user="hourbell_api")) for _ in range(8)]

    def application(database: Database) -> Application:
        scheduler = Scheduler(database=database, lanes=RecordingLanes(), horizon=HORIZON)
        return Application(Api(scheduler=scheduler, stage_key=lambda: b"x", target_rules=lambda: RULES))

    yield [Client(application(database), client.tenant_id) for database in opened]
    for database in opened:
        database.close()


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@pytest.mark.parametrize("is_due", [True, False])
def test_of_edits_of_one_version_one_wins(clients: list[Client], admin, is_due):
    path = f"/v1/jobs/{clients[0].job()['id']}"
    if not is_due:
        admin.execute("delete from due")

    answers = at_once([
        lambda one=one, n=n: one.patch(path, {"payload": n}, headers={"If-Match": '"1"'})
        for n, one in enumerate(clients)
    ])  # fmt: skip

    assert sorted(answer.status for answer in answers) == [200] + [412] * 7
    (winner,) = (n for n, answer in enumerate(answers) if answer.status == 200)
    assert clients[0].get(path).json["payload"] == winner


def test_edits_without_a_condition_all_count(clients: list[Client]):
    path = f"/v1/jobs/{clients[0].job()['id']}"

    answers = at_once([
        lambda one=one, n=n: one.patch(path, {"tags": {f"t{n}": "x"}}) for n, one in enumerate(clients)
    ])  # fmt: skip

    assert {answer.status for answer in answers} == {200}
    job = clients[0].get(path).json
    assert (len(job["tags"]), job["version"]) == (8, 9)


def test_of_creates_of_one_name_one_wins(clients: list[Client]):
    body = {"name": "nightly", "schedule": {"every": "1h"}, "target": "sink"}

    answers = at_once([lambda one=one: one.post("/v1/jobs", body) for one in clients])

    assert sorted(answer.status for answer in answers) == [201] + [409] * 7


def test_creates_of_one_destination_share_it(clients: list[Client], admin):
    body = {"schedule": {"every": "1h"}, "target": {"http": {"url": "http://127.0.0.1:9/x"}}}

    answers = at_once([lambda one=one: one.post("/v1/jobs", body) for one in clients])

    assert {answer.status for answer in answers} == {201}
    assert admin.execute("select count(*) from target where name is null").fetchone() == (1,)


def test_triggers_at_one_moment_all_run(clients: list[Client], admin):
    path = f"/v1/jobs/{clients[0].job()['id']}/trigger"

    answers = at_once([lambda one=one: one.post(path) for one in clients])

    assert len({answer.json["id"] for answer in answers}) == 8
    assert admin.execute("select count(*), count(distinct run_id) from run").fetchone() == (8, 8)


@pytest.mark.parametrize(
    "change",
    [
        lambda one, path: one.patch(path, {"schedule": {"every": "90s", "anchor": format_instant(T0)}}),
        lambda one, path: one.post(f"{path}/pause"),
        lambda one, path: one.delete(path),
    ],
    ids=["edit", "pause", "delete"],
)
def test_a_change_waits_for_the_claim_that_is_planning_the_job_and_has_the_last_word(
    clients: list[Client], conninfo, admin, change
):
    one = clients[0]
    path = f"/v1/jobs/{one.job({'every': '200s', 'anchor': format_instant(T0)})['id']}"
    scanner = Database(conninfo)
    answers: list[Any] = []

    def claim_slowly(connection):
        later = T0 + timedelta(seconds=100)
        claim_shards(connection, first_shard=0, last_shard=127, now=later, horizon=HORIZON, per_shard=10)
        thread = threading.Thread(target=lambda: answers.append(change(one, path)))
        thread.start()
        wait_for_a_waiter(connection)
        return thread

    scanner.run(claim_slowly).join()
    scanner.close()

    assert answers[0].status in (200, 204)
    # The claim's run stands, of the schedule that was; it is judged again when it is leased.
    assert (
        admin.execute("select scheduled_for, schedule_version from run where scheduled_for = %s", (SOON,)).fetchone()[1]
        == 1
    )
    state, version = admin.execute("select state, schedule_version from job").fetchone()
    places = [row[0] for row in admin.execute("select next_run_at::text from due").fetchall()]
    match state:
        case "active":
            assert version == 2
            assert len(places) == 1
        case "paused":
            assert places == ["infinity"]
        case _:
            assert places == []


def test_an_edit_and_a_claim_never_wait_for_each_other(clients: list[Client], conninfo, admin):
    """A claim locks the due row and writes the job later; an edit that locks them the other way round deadlocks."""
    one = clients[0]
    path = f"/v1/jobs/{one.job()['id']}"
    scanner = Database(conninfo)
    answers: list[Any] = []
    attempts = []

    def claim_slowly(connection):
        attempts.append(1)
        connection.execute("select 1 from due for update")
        thread = threading.Thread(target=lambda: answers.append(one.patch(path, {"schedule": {"every": "2h"}})))
        thread.start()
        wait_for_a_waiter(connection)
        connection.execute("update job set runs_planned = runs_planned + 1")
        return thread

    scanner.run(claim_slowly).join()
    scanner.close()

    assert (len(attempts), answers[0].status) == (1, 200)
    assert admin.execute("select runs_planned from job").fetchone() == (1,)


def test_a_skip_waits_for_the_claim_that_is_planning_the_job_and_takes_out_what_it_planned(
    clients: list[Client], conninfo, admin
):
    one = clients[0]
    path = f"/v1/jobs/{one.job({'every': '200s', 'anchor': format_instant(T0)})['id']}"
    scanner = Database(conninfo)
    answers: list[Any] = []

    def claim_slowly(connection):
        later = T0 + timedelta(seconds=100)
        claim_shards(connection, first_shard=0, last_shard=127, now=later, horizon=HORIZON, per_shard=10)
        thread = threading.Thread(target=lambda: answers.append(one.post(f"{path}/skip-next")))
        thread.start()
        wait_for_a_waiter(connection)
        return thread

    scanner.run(claim_slowly).join()
    scanner.close()

    after = T0 + timedelta(seconds=400)
    assert (answers[0].status, answers[0].json["next_run_at"]) == (200, format_instant(after))
    assert admin.execute("select state, wake_at from run").fetchall() == [("skipped", None)]
    assert admin.execute("select scheduled_for from due").fetchall() == [(after,)]


def test_skips_at_one_moment_take_out_one_each(clients: list[Client], admin):
    path = f"/v1/jobs/{clients[0].job({'every': '50s'})['id']}/skip-next"

    answers = at_once([lambda one=one: one.post(path) for one in clients])

    assert {answer.status for answer in answers} == {200}
    found = admin.execute("select scheduled_for from run where state = 'skipped' order by 1").fetchall()
    assert found == [(T0 + timedelta(seconds=50 * n),) for n in range(1, 9)]


def test_a_job_declared_by_many_at_once_is_one_job(clients: list[Client], admin):
    body = {"schedule": {"cron": "0 2 * * *", "timezone": "UTC"}, "target": "sink"}

    answers = at_once([lambda one=one: one.call("PUT", "/v1/jobs/by-name/nightly", body) for one in clients])

    assert sorted(answer.status for answer in answers) == [200] * 7 + [201]
    assert admin.execute("select name, version from job").fetchall() == [("nightly", 1)]
