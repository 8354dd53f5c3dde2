"""Targets over the API."""

from __future__ import annotations

import threading
from datetime import timedelta

from hourbell.api.schemas import REPLIES
from hourbell.domain.ids import decode
from hourbell.receiver import verify
from hourbell.store.connection import Database
from hourbell.targets.signature import sign, signing_key

from tests.integration.api.conftest import RULES, Client, wait_for_a_waiter
from tests.seeds import T0


def test_a_target_is_created_read_and_listed(bare: Client):
    secret = RULES.secret_prefix(bare.tenant_id) + "billing"
    created = bare.post(
        "/v1/targets",
        {
            "name": "billing",
            "http": {"url": "https://Example.com", "headers": {"X-A": "1"}, "secret": secret},
            "rate_per_second": 50,
            "burst": 100,
            "max_concurrency": 20,
        },
    )

    target = created.json
    REPLIES["Target"].model_validate(target)
    assert (created.status, created.headers["etag"]) == (201, '"1"')
    assert target["id"].startswith("tgt_")
    assert target["http"] == {
        "url": "https://example.com/",
        "method": "POST",
        "headers": {"X-A": "1"},
        "secret": secret,
    }
    assert (target["rate_per_second"], target["burst"], target["max_concurrency"]) == (50, 100, 20)
    assert bare.get(f"/v1/targets/{target['id']}").json == target
    assert bare.get("/v1/targets", query={"name": "billing"}).json == {"items": [target], "next_cursor": None}


def test_names_are_unique_among_those_that_are_not_deleted(bare: Client):
    target = bare.target("a")
    again = {"name": "a", "http": {"url": "http://127.0.0.1:9/"}}

    refused = bare.post("/v1/targets", again)
    assert (refused.status, refused.fields) == (409, ["name"])
    other = bare.target("b")
    refused = bare.patch(f"/v1/targets/{other['id']}", {"name": "a"})
    assert (refused.status, refused.fields) == (409, ["name"])

    assert bare.delete(f"/v1/targets/{target['id']}").status == 204
    assert bare.post("/v1/targets", again).status == 201


def test_a_patch_merges(bare: Client):
    target = bare.target("a", rate_per_second=5, burst=7)
    path = f"/v1/targets/{target['id']}"

    edited = bare.patch(path, {"http": {"headers": {"X-A": "1"}}, "burst": None, "rate_per_second": 2.5})

    assert edited.json["http"] == {**target["http"], "headers": {"X-A": "1"}}
    assert (edited.json["rate_per_second"], edited.json["burst"], edited.json["version"]) == (2.5, None, 2)
    assert bare.patch(path, {"burst": 1}, headers={"If-Match": '"1"'}).status == 412
    assert bare.patch(path, {"http": {"url": "gopher://127.0.0.1/"}}).fields == ["http.url"]
    assert bare.patch(path, {"http": None}).fields == ["http"]


def test_pause_and_resume(bare: Client):
    path = f"/v1/targets/{bare.target('a')['id']}"

    assert bare.post(f"{path}/pause").json["state"] == "paused"
    assert bare.post(f"{path}/pause", {}).json["version"] == 2
    assert bare.get("/v1/targets", query={"state": "paused"}).json["items"][0]["state"] == "paused"
    assert bare.post(f"{path}/resume").json["state"] == "active"
    assert bare.post(f"{path}/resume", {"x": 1}).fields == ["x"]


def test_a_new_pace_holds_for_what_waits_already(bare: Client, admin, lanes):
    path = f"/v1/targets/{bare.target('slow', rate_per_second=1)['id']}"
    for _ in range(5):
        bare.job({"at": "2027-05-09T12:00:10.000Z"}, target="slow")
    assert starts(admin) == [T0 + timedelta(seconds=10 + n) for n in range(5)]
    lanes.take()

    assert bare.patch(path, {"http": {"headers": {"X-A": "1"}}}).status == 200
    assert lanes.take() == []
    assert bare.patch(path, {"rate_per_second": 2}).status == 200

    assert starts(admin) == [T0 + timedelta(seconds=10 + n / 2) for n in range(5)]
    assert sorted(message.ready_at for message in lanes.sent) == starts(admin)


def test_a_resumed_target_lets_go_what_its_pause_held(bare: Client, admin, lanes):
    path = f"/v1/targets/{bare.target('a')['id']}"
    bare.job({"at": "2027-05-09T12:00:10.000Z"}, target="a")
    bare.post(f"{path}/pause")
    admin.execute("update run set reason = 'target_paused'")
    lanes.take()
    bare.now = T0 + timedelta(minutes=5)

    bare.post(f"{path}/resume")

    assert [message.ready_at for message in lanes.sent] == [bare.now]
    assert starts(admin) == [bare.now]


def test_a_raised_concurrency_limit_is_offered_at_once(bare: Client, admin, lanes):
    path = f"/v1/targets/{bare.target('a', max_concurrency=1)['id']}"
    for _ in range(4):
        bare.job({"at": "2027-05-09T12:00:00.001Z"}, target="a")
    admin.execute("update run set reason = 'no_slot'")
    lanes.take()

    bare.patch(path, {"max_concurrency": 3})

    assert len(lanes.sent) == 3
    assert admin.execute("select count(*) from run where reason = 'slot_offered'").fetchone() == (3,)


def starts(admin) -> list:
    return [row[0] for row in admin.execute("select fire_at from run order by fire_at").fetchall()]


def test_a_target_stays_as_long_as_anything_may_be_delivered_to_it(client: Client, admin):
    target = client.get("/v1/targets").json["items"][0]
    path = f"/v1/targets/{target['id']}"
    job = client.job({"at": "2027-05-09T12:00:30.000Z"})

    assert client.delete(path).status == 409
    assert client.delete(f"/v1/jobs/{job['id']}").status == 204
    assert client.delete(path).status == 409
    admin.execute("update run set state = 'cancelled', wake_at = null")
    assert client.delete(path, headers={"If-Match": '"9"'}).status == 412
    assert client.delete(path).status == 204
    assert client.get(path).status == 404
    assert client.post("/v1/jobs", {"schedule": {"every": "1h"}, "target": "sink"}).fields == ["target"]


def test_a_completed_job_still_shows_the_target_it_had(client: Client, admin):
    job = client.job({"at": "2027-05-09T12:00:30.000Z"})
    admin.execute("update run set state = 'succeeded', wake_at = null")
    assert client.delete(f"/v1/targets/{client.get('/v1/targets').json['items'][0]['id']}").status == 204

    assert client.get(f"/v1/jobs/{job['id']}").json["target"] == "sink"
    assert client.patch(f"/v1/jobs/{job['id']}", {"tags": {"a": "b"}}).status == 200


def test_a_target_deleted_while_a_job_is_created_is_not_used(client: Client, conninfo):
    """The create waits for the delete, and then finds no target: never a job without one."""
    target_id = client.get("/v1/targets").json["items"][0]["id"]
    from hourbell.domain.ids import decode

    blocker = Database(conninfo)
    answers = []

    def delete_slowly(connection):
        connection.execute("select 1 from target where target_id = %s for update", (decode("tgt", target_id),))
        thread = threading.Thread(
            target=lambda: answers.append(client.post("/v1/jobs", {"schedule": {"every": "1h"}, "target": "sink"}))
        )
        thread.start()
        wait_for_a_waiter(connection)
        connection.execute("update target set state = 'deleted' where target_id = %s", (decode("tgt", target_id),))
        return thread

    blocker.run(delete_slowly).join()
    blocker.close()

    assert (answers[0].status, answers[0].fields) == (400, ["target"])


def test_a_target_of_a_job_that_is_far_off_stays_as_well(client: Client):
    path = f"/v1/targets/{client.get('/v1/targets').json['items'][0]['id']}"
    job = f"/v1/jobs/{client.job()['id']}"

    assert client.delete(path).status == 409
    client.post(f"{job}/pause")
    assert client.delete(path).status == 409
    client.delete(job)
    assert client.delete(path).status == 204


def test_pages_of_targets(bare: Client):
    for n in range(5):
        bare.now = T0 + timedelta(milliseconds=n)
        bare.target(f"t{n}")

    first = bare.get("/v1/targets", query={"limit": 3}).json
    second = bare.get("/v1/targets", query={"limit": 3, "cursor": first["next_cursor"]}).json

    assert [target["name"] for target in first["items"] + second["items"]] == ["t4", "t3", "t2", "t1", "t0"]
    assert second["next_cursor"] is None


def test_a_target_owner_can_verify_what_a_worker_signs(client: Client):
    """The secret that the API shows, the signature that a worker makes, and the receiver agree."""
    target = client.get("/v1/targets").json["items"][0]
    answer = client.get(f"/v1/targets/{target['id']}/signing-secret")
    REPLIES["SigningSecret"].model_validate(answer.json)
    key = signing_key(b"stage secret", decode("tgt", target["id"]))
    signature = sign(key, message_id="run_1", timestamp=int(T0.timestamp()), body=b"{}")
    headers = {
        "webhook-id": "run_1",
        "webhook-timestamp": str(int(T0.timestamp())),
        "webhook-signature": signature,
        "hourbell-job": "job_1",
        "hourbell-attempt": "1",
        "hourbell-scheduled-for": "2027-05-09T12:00:00.000Z",
        "hourbell-lease-token": "t",
    }
    verified = verify(headers, b"{}", secrets=[answer.json["signing_secret"]], now=T0.timestamp())
    assert verified.run_id == "run_1"


def test_a_target_with_a_secret_of_its_own_shows_its_name_only(client: Client):
    secret = RULES.secret_prefix(client.tenant_id) + "a"
    http = {"url": "http://127.0.0.1:9/", "secret": secret}
    target = client.post("/v1/targets", {"name": "own", "http": http}).json
    answer = client.get(f"/v1/targets/{target['id']}/signing-secret")
    assert answer.json == {"signing_secret": None, "secret": secret}
