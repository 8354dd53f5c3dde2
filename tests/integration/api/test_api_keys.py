"""Keys that a tenant manages itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hourbell.api.schemas import REPLIES
from hourbell.domain.ids import decode
from hourbell.domain.instants import format_instant
from hourbell.services.authenticate import Principal, authenticate
from hourbell.services.tenants import SCOPES, key_digest, secret_mark

from tests.integration.api.conftest import Client
from tests.seeds import T0

MINUTE = timedelta(minutes=1)


@pytest.fixture
def opens(authorizer):
    """Who a secret opens for, at a time."""

    def opened(secret: str, now=T0) -> Principal | None:
        return authenticate(authorizer, f"Bearer {secret}", now=now)

    return opened


def made(client: Client, **members) -> dict:
    answer = client.post("/v1/keys", {"name": "ci", "scopes": ["jobs:read"], **members})
    assert answer.status == 201, answer.text
    REPLIES["NewKey"].model_validate_json(answer.text)
    return answer.json


def test_a_key_is_shown_with_its_secret_once_and_opens_its_tenant(client: Client, opens, admin):
    key = made(client, scopes=["jobs:read", "runs:write"])

    found = opens(key["secret"])

    assert found is not None
    assert (found.tenant_id, found.scopes) == (client.tenant_id, {"jobs:read", "runs:write"})
    for answer in (client.get("/v1/keys"), client.get(f"/v1/keys/{key['id']}")):
        assert key["secret"] not in answer.text
    assert key["secret"] not in str(admin.execute("select * from api_key").fetchall())


def test_a_replay_has_the_key_without_its_secret_and_nothing_stored_has_it(client: Client, admin):
    headers = {"Idempotency-Key": "k"}
    first = client.post("/v1/keys", {"name": "ci", "scopes": ["jobs:read"]}, headers=headers)

    again = client.post("/v1/keys", {"name": "ci", "scopes": ["jobs:read"]}, headers=headers)

    assert again.json == {**first.json, "secret": None}
    assert again.headers["idempotency-replayed"] == "true"
    assert first.json["secret"] not in str(admin.execute("select * from idempotent_request").fetchall())
    assert len(client.get("/v1/keys").json["items"]) == 1


@pytest.mark.parametrize("scope", [scope for scope in SCOPES if scope != "keys:write"])
def test_no_key_grants_what_it_lacks(client: Client, scope: str):
    client.scopes = "keys:write"

    refused = client.post("/v1/keys", {"name": "more", "scopes": [scope]})
    client.scopes = f"keys:write {scope}"
    granted = client.post("/v1/keys", {"name": "as much", "scopes": [scope]})

    assert (refused.status, refused.fields) == (400, ["scopes"])
    assert granted.status == 201


def test_nor_gets_it_from_a_key_that_has_it(client: Client, opens):
    key = made(client, scopes=["admin"])
    client.scopes = "keys:write jobs:read"

    rotated = client.post(f"/v1/keys/{key['id']}/rotate")
    revoked = client.delete(f"/v1/keys/{key['id']}")

    assert (rotated.status, revoked.status) == (409, 409)
    assert opens(key["secret"]) is not None


def test_the_old_secret_opens_for_its_grace_and_no_longer(client: Client, opens):
    key = made(client)

    rotated = client.post(f"/v1/keys/{key['id']}/rotate", {"grace": "1h"})

    assert rotated.status == 200
    assert rotated.json["id"] == key["id"]
    assert rotated.json["previous_secret_expires_at"] == "2027-05-09T13:00:00.000Z"
    new = rotated.json["secret"]
    assert [opens(secret, T0 + timedelta(minutes=59)) is not None for secret in (key["secret"], new)] == [True, True]
    assert [opens(secret, T0 + timedelta(minutes=60)) is not None for secret in (key["secret"], new)] == [False, True]


def test_rotating_twice_by_mistake_cuts_nobody_off(client: Client, opens):
    key = made(client)
    rotate = f"/v1/keys/{key['id']}/rotate"
    new = client.post(rotate, {"grace": "1h"}).json["secret"]

    again = [client.post(rotate, {"grace": grace}) for grace in ("1h", "0s")]

    assert [answer.status for answer in again] == [409, 409]
    assert "opens until 2027-05-09T13:00:00.000Z" in again[0].json["detail"]
    assert [opens(secret) is not None for secret in (key["secret"], new)] == [True, True]
    client.now = T0 + 60 * MINUTE
    assert client.post(rotate).status == 200


def test_a_forced_second_rotation_ends_the_first_secret(client: Client, opens):
    secrets = [(key := made(client))["secret"]]
    secrets += [client.post(f"/v1/keys/{key['id']}/rotate", {"force": True}).json["secret"] for _ in range(2)]

    assert [opens(secret) is not None for secret in secrets] == [False, True, True]


def test_an_old_secret_opens_all_but_the_management_of_keys(client: Client, asks_with, opens, admin):
    key, other = made(client, scopes=["admin"]), made(client)
    owner = asks_with(key)
    new = owner.post(f"/v1/keys/{key['id']}/rotate", {"grace": "30d"}).json
    thief = owner  # whose answer from the authorizer may be from before the rotation, too

    refused = [
        thief.post(f"/v1/keys/{key['id']}/rotate", {"force": True}),
        thief.post(f"/v1/keys/{other['id']}/rotate"),
        thief.post("/v1/keys", {"name": "mine", "scopes": ["admin"]}),
        thief.delete(f"/v1/keys/{other['id']}"),
        replace(thief, scopes="operator").post("/v1/tenants", {"name": "mine"}),
    ]

    assert [answer.status for answer in refused] == [403] * 5
    assert all("use the new secret" in answer.json["detail"] for answer in refused)
    assert thief.get("/v1/jobs").status == 200
    assert opens(new["secret"]) is not None
    assert admin.execute("select count(*) from api_key where revoked_at is null").fetchone() == (2,)
    assert asks_with({**key, "secret": new["secret"]}).delete(f"/v1/keys/{other['id']}").status == 204


def test_the_authorizer_tells_the_old_secret_from_the_new(client: Client, opens):
    key = made(client)
    new = client.post(f"/v1/keys/{key['id']}/rotate").json["secret"]

    marks = [opens(secret).secret_mark for secret in (key["secret"], new)]

    assert marks == [secret_mark(key_digest(secret)) for secret in (key["secret"], new)]
    assert Principal.from_context(opens(new).context()) == opens(new)


def test_a_revoked_key_opens_nothing_also_by_its_old_secret(client: Client, opens):
    key = made(client)
    new = client.post(f"/v1/keys/{key['id']}/rotate", {"grace": "30d"}).json["secret"]

    assert [client.delete(f"/v1/keys/{key['id']}").status for _ in range(2)] == [204, 204]

    assert [opens(key["secret"]), opens(new)] == [None, None]
    assert client.get(f"/v1/keys/{key['id']}").json["revoked_at"] == "2027-05-09T12:00:00.000Z"
    assert client.post(f"/v1/keys/{key['id']}/rotate").status == 409


def test_a_key_does_not_revoke_itself(client: Client, asks_with):
    key = made(client, scopes=["admin"])

    refused = asks_with(key).delete(f"/v1/keys/{key['id']}")

    assert (refused.status, refused.json["detail"][:24]) == (409, "a key cannot revoke itse")


def test_a_key_ends_by_itself(client: Client, opens):
    key = made(client, expires_at="2027-05-10T12:00:00Z")

    assert opens(key["secret"], T0 + timedelta(hours=23)) is not None
    assert opens(key["secret"], T0 + timedelta(hours=24)) is None
    client.now = T0 + timedelta(hours=24)
    assert client.post(f"/v1/keys/{key['id']}/rotate").status == 409


def test_its_last_use_is_known_to_the_minute_and_written_no_oftener(client: Client, opens, admin):
    key = made(client)
    written = "select last_used_at, xmin::text from api_key"

    opens(key["secret"], T0)
    first = admin.execute(written).fetchall()
    opens(key["secret"], T0 + MINUTE - timedelta(seconds=1))
    same = admin.execute(written).fetchall()
    opens(key["secret"], T0 + MINUTE)

    assert first == same
    assert admin.execute(written).fetchall()[0][0] == T0 + MINUTE
    assert client.get(f"/v1/keys/{key['id']}").json["last_used_at"] == "2027-05-09T12:01:00.000Z"


def test_keys_are_listed_newest_first_page_by_page(client: Client, stranger: Client):
    made_ids = []
    for minute in range(3):
        client.now = T0 + minute * MINUTE
        made_ids.append(made(client)["id"])

    first = client.get("/v1/keys", query={"limit": 2}).json
    second = client.get("/v1/keys", query={"limit": 2, "cursor": first["next_cursor"]}).json

    assert [key["id"] for key in first["items"] + second["items"]] == made_ids[::-1]
    assert second["next_cursor"] is None
    assert stranger.get("/v1/keys").json["items"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scopes": ["jobs:read"]}, "name"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": ["everything"]}, "scopes.0"),
        ({"name": "x", "scopes": ["jobs:read"], "expires_at": "2027-05-09T12:00:00Z"}, "expires_at"),
        ({"name": "x", "scopes": ["jobs:read"], "expires_at": "tomorrow"}, "expires_at"),
        ({"name": "x", "scopes": ["jobs:read"], "secret": "mine"}, "secret"),
    ],
)
def test_what_a_key_cannot_be_is_refused_by_its_field(client: Client, body, field):
    answer = client.post("/v1/keys", body)

    assert (answer.status, answer.fields) == (400, [field])


@pytest.mark.parametrize("grace", ["-1h", "31d", "soon", 60])
def test_a_grace_is_at_most_thirty_days(client: Client, grace):
    answer = client.post(f"/v1/keys/{made(client)['id']}/rotate", {"grace": grace})

    assert (answer.status, answer.fields) == (400, ["grace"])


@pytest.fixture
def asks_with(client: Client):
    """Let the client ask with a key that it was given."""

    def ask(key: dict) -> Client:
        context = {"key_id": str(decode("key", key["id"])), "secret_mark": secret_mark(key_digest(key["secret"]))}
        return replace(client, scopes=" ".join(key["scopes"]), context=context)

    return ask


def test_a_key_that_ends_makes_none_that_opens_for_longer(client: Client, asks_with):
    end = format_instant(T0 + timedelta(days=1))
    guest = asks_with(made(client, scopes=["keys:write", "jobs:read"], expires_at=end))
    body = {"name": "more", "scopes": ["jobs:read"]}

    refused = [guest.post("/v1/keys", {**body, "expires_at": at}) for at in (None, "2029-01-01T00:00:00Z")]

    assert [(answer.status, answer.fields) for answer in refused] == [(400, ["expires_at"])] * 2
    assert guest.post("/v1/keys", {**body, "expires_at": end}).status == 201


def test_nor_gets_the_secret_of_one_that_does(client: Client, asks_with, opens):
    lasting = made(client)
    key = made(client, scopes=["keys:write", "jobs:read"], expires_at=format_instant(T0 + timedelta(days=1)))

    refused = asks_with(key).post(f"/v1/keys/{lasting['id']}/rotate")
    own = asks_with(key).post(f"/v1/keys/{key['id']}/rotate")

    assert (refused.status, own.status) == (409, 200)
    assert opens(own.json["secret"], T0 + timedelta(days=1)) is None


def test_a_revoked_key_makes_no_other_in_the_minute_that_it_is_still_let_in(client: Client, asks_with, admin):
    stolen, other = made(client, scopes=["admin"]), made(client)
    thief = asks_with(stolen)
    client.delete(f"/v1/keys/{stolen['id']}")

    answers = [
        thief.post("/v1/keys", {"name": "mine", "scopes": ["admin"]}),
        thief.post(f"/v1/keys/{other['id']}/rotate"),
        thief.post(f"/v1/keys/{stolen['id']}/rotate"),
        thief.delete(f"/v1/keys/{other['id']}"),
    ]

    assert [answer.status for answer in answers] == [409] * 4
    assert admin.execute("select count(*) from api_key where revoked_at is null").fetchone() == (1,)


def test_of_two_keys_that_revoke_each_other_one_is_left(client: Client, asks_with, admin):
    first, second = made(client, scopes=["admin"]), made(client, scopes=["admin"])

    answers = [asks_with(one).delete(f"/v1/keys/{two['id']}") for one, two in ((first, second), (second, first))]

    assert [answer.status for answer in answers] == [204, 409]


@pytest.mark.parametrize("act", ["rotate", "revoke"])
def test_a_key_that_changed_since_it_was_read_is_left_as_it_is(client: Client, opens, act: str):
    key = made(client)
    path = f"/v1/keys/{key['id']}"
    seen = client.get(path).headers["etag"]
    assert opens(key["secret"]) is not None
    assert client.get(path).headers["etag"] == seen, "its use is no change"
    rotated = client.post(f"{path}/rotate", {"grace": "0s"}, headers={"If-Match": seen})
    assert rotated.headers["etag"] == client.get(path).headers["etag"] != seen

    def change(tag: str) -> int:
        headers = {"If-Match": tag}
        if act == "rotate":
            return client.post(f"{path}/rotate", {"grace": "0s"}, headers=headers).status
        return client.delete(path, headers=headers).status

    assert change(seen) == 412
    assert opens(rotated.json["secret"]) is not None
    assert change(rotated.headers["etag"]) in (200, 204)
