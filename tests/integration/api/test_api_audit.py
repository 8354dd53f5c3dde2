"""Who changed what."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hourbell.api.schemas import REPLIES
from hourbell.domain.ids import encode
from hourbell.services.audit import record
from hourbell.store.audit import delete_old_audit

from tests.integration.api.conftest import Client
from tests.seeds import T0


def entries(client: Client, path: str) -> list[dict]:
    answer = client.get(path)
    assert answer.status == 200, answer.text
    for item in answer.json["items"]:
        REPLIES["Change"].model_validate(item)
    return answer.json["items"]


def told(client: Client, path: str) -> list[tuple[str, dict]]:
    """Oldest first: the action, and by field what was there before and after."""
    shown = [
        (entry["action"], {change["field"]: (change["old"], change["new"]) for change in entry["changes"]})
        for entry in entries(client, path)
    ]
    return shown[::-1]


def later(client: Client) -> None:
    client.now += timedelta(minutes=1)


def test_a_jobs_life_is_on_record(client: Client):
    job = client.job({"every": "1h"}, name="nightly", payload={"ledger": 7})
    path = f"/v1/jobs/{job['id']}"
    for act in (
        lambda: client.patch(path, {"payload": {"ledger": 8}, "window": "5m", "tags": {"team": "a"}}),
        lambda: client.post(f"{path}/pause", {"note": "moving"}),
        lambda: client.post(f"{path}/pause", {"note": "moving"}),
        lambda: client.post(f"{path}/resume"),
        lambda: client.post(f"{path}/skip-next"),
        lambda: client.patch(path, {"tags": {"team": "a"}}),
        lambda: client.delete(path),
    ):
        later(client)
        assert act().status in (200, 204)

    assert told(client, f"{path}/audit") == [
        ("created", {}),
        (
            "edited",
            {"payload": ('{"ledger":7}', '{"ledger":8}'), "window": ("PT0S", "PT5M"), "tags": ("{}", '{"team":"a"}')},
        ),
        ("paused", {"state": ("active", "paused"), "note": (None, "moving")}),
        ("resumed", {"missed": (None, "skip")}),
        ("skipped", {"skipped": (None, "2027-05-09T13:00:00.000Z")}),
        ("deleted", {"name": ("nightly", None)}),
    ]


def test_it_says_which_key_did_it_in_which_request(client: Client):
    job = client.job({"every": "1h"})

    (entry,) = entries(client, f"/v1/jobs/{job['id']}/audit")

    assert entry["resource"] == job["id"]
    assert entry["key"] == encode("key", client.tenant_id)  # the test's own key
    assert entry["request_id"] == "request-1"
    assert entry["recorded_at"] == "2027-05-09T12:00:00.000Z"


def test_long_values_are_cut(client: Client):
    job = client.job({"every": "1h"}, payload="x" * 1000)
    later(client)
    client.patch(f"/v1/jobs/{job['id']}", {"payload": "y" * 1000})

    change = entries(client, f"/v1/jobs/{job['id']}/audit")[0]["changes"][0]

    assert (len(change["old"]), change["new"][-1]) == (200, "…")


def test_every_job_of_a_batch_is_on_record(client: Client, admin):
    body = {"jobs": [{"schedule": {"every": "1h"}, "target": "sink"}] * 3}
    made = client.post("/v1/jobs/batch", body).json["items"]

    assert [told(client, f"/v1/jobs/{job['id']}/audit") for job in made] == [[("created", {})]] * 3


def test_what_was_refused_is_not(client: Client, admin):
    job = client.job({"every": "1h"})
    client.patch(f"/v1/jobs/{job['id']}", {"name": "x", "target": "nowhere"})
    client.patch(f"/v1/jobs/{job['id']}", {"name": "x"}, headers={"If-Match": '"99"'})

    assert len(entries(client, f"/v1/jobs/{job['id']}/audit")) == 1


def test_targets_and_keys_are_on_record_without_their_secrets(client: Client, admin):
    target = client.get("/v1/targets").json["items"][0]
    headers = {"Authorization": "Basic c2VjcmV0"}
    later(client)
    client.patch(f"/v1/targets/{target['id']}", {"http": {"headers": headers}, "max_concurrency": 3})
    later(client)
    client.post(f"/v1/targets/{target['id']}/pause")
    key = client.post("/v1/keys", {"name": "ci", "scopes": ["jobs:read"]}).json
    later(client)
    client.post(f"/v1/keys/{key['id']}/rotate", {"grace": "1h"})
    later(client)
    client.delete(f"/v1/keys/{key['id']}")

    of_target = client.get("/v1/audit", query={"resource": target["id"]}).json["items"]
    of_key = client.get("/v1/audit", query={"resource": key["id"]}).json["items"]
    assert [entry["action"] for entry in of_target] == ["paused", "edited", "created"]
    assert {change["field"]: change["new"] for change in of_target[1]["changes"]} == {
        "http.headers": '["Authorization"]',
        "max_concurrency": "3",
    }
    assert [entry["action"] for entry in of_key] == ["revoked", "rotated", "created"]
    written = str(admin.execute("select * from audit").fetchall())
    assert "c2VjcmV0" not in written
    assert key["secret"] not in written


def test_pages_go_back_in_time(client: Client):
    job = client.job({"every": "1h"})
    for number in range(3):
        later(client)
        client.patch(f"/v1/jobs/{job['id']}", {"payload": number})

    first = client.get(f"/v1/jobs/{job['id']}/audit", query={"limit": 3}).json
    second = client.get(f"/v1/jobs/{job['id']}/audit", query={"limit": 3, "cursor": first["next_cursor"]}).json

    times = [entry["recorded_at"] for entry in first["items"] + second["items"]]
    assert len(times) == 4
    assert times == sorted(times, reverse=True)


def test_another_tenant_sees_none_of_it(client: Client, stranger: Client):
    job = client.job({"every": "1h"})

    assert stranger.get(f"/v1/jobs/{job['id']}/audit").status == 404
    assert stranger.get("/v1/audit").json["items"] == []
    assert stranger.get("/v1/audit", query={"resource": job["id"]}).json["items"] == []


@pytest.mark.parametrize("resource", ["run_01mnj4t0g0g0080002q046mg70", "nonsense", "job_nonsense", ""])
def test_what_is_no_resource_is_refused(client: Client, resource: str):
    answer = client.get("/v1/audit", query={"resource": resource} if resource else None, raw_query="resource=")

    assert (answer.status, answer.fields) == (400, ["resource"])


def test_it_is_forgotten_after_400_days(client: Client, admin):
    client.job({"every": "1h"})

    assert delete_old_audit(admin, now=T0 + timedelta(days=400, seconds=-1)) == 0
    assert delete_old_audit(admin, now=T0 + timedelta(days=400)) == 2  # the job, and the target of the fixture


def test_others_record_in_one_line_what_no_key_did(client: Client, admin):
    tenant_id = client.tenant_id
    record(admin, tenant_id, "tenant", tenant_id, "quota_changed", changes={"jobs": (100, 200)}, now=T0)

    (entry,) = client.get("/v1/audit", query={"resource": encode("ten", tenant_id)}).json["items"]

    assert (entry["key"], entry["request_id"], entry["changes"]) == (
        None,
        None,
        [{"field": "jobs", "old": "100", "new": "200"}],
    )


def test_what_happens_in_one_millisecond_stays_in_its_order_from_page_to_page(client: Client):
    job = client.job({"every": "1h"})
    path = f"/v1/jobs/{job['id']}"
    for number in range(8):
        client.patch(path, {"payload": number})
    client.now -= timedelta(milliseconds=1)  # another machine, whose clock is behind
    client.delete(path)

    shown, cursor = [], None
    while True:
        page = client.get(f"{path}/audit", query={"limit": 2, **({"cursor": cursor} if cursor else {})}).json
        client.patch("/v1/jobs/" + client.job({"every": "1h"})["id"], {"payload": 0})  # entries come meanwhile
        shown += [[entry["action"], *(change["new"] for change in entry["changes"])] for entry in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break

    assert shown == [["deleted", None], *(["edited", str(number)] for number in reversed(range(8))), ["created"]]
