"""The HTTP client: what it sends, and how it says what went wrong."""

from __future__ import annotations

import json

import httpx
import pytest
from hourbell.client import ApiError, Client, ClientError, UnreachableError


def client(answer: httpx.Response | Exception, seen: list[httpx.Request] | None = None) -> Client:
    def handle(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return Client("https://hourbell.example/", "hb_live_key", transport=httpx.MockTransport(handle))


def test_the_key_travels_as_a_bearer_token():
    seen: list[httpx.Request] = []
    client(httpx.Response(200, json={"items": [], "next_cursor": None}), seen).list_jobs(state="active", tag=None)
    assert seen[0].headers["authorization"] == "Bearer hb_live_key"
    assert str(seen[0].url) == "https://hourbell.example/v1/jobs?state=active&limit=50"


def test_creating_calls_carry_an_idempotency_key_each():
    seen: list[httpx.Request] = []
    hourbell = client(httpx.Response(201, json={"id": "job_1"}), seen)
    hourbell.create_job({"schedule": {"every": "5s"}, "target": "t"})
    hourbell.create_job({"schedule": {"every": "5s"}, "target": "t"})
    keys = [request.headers["idempotency-key"] for request in seen]
    assert len(set(keys)) == 2
    assert json.loads(seen[0].content) == {"schedule": {"every": "5s"}, "target": "t"}


def test_reading_calls_carry_none():
    seen: list[httpx.Request] = []
    client(httpx.Response(200, json={"id": "job_1"}), seen).get_job("job_1")
    assert "idempotency-key" not in seen[0].headers


def test_a_refusal_names_every_field():
    problem = {
        "title": "Bad Request",
        "status": 400,
        "errors": [
            {"field": "schedule.cron", "detail": "61 is not a minute"},
            {"field": "target", "detail": "unknown"},
        ],
    }
    with pytest.raises(ApiError, match=r"^schedule\.cron: 61 is not a minute; target: unknown$") as caught:
        client(httpx.Response(400, json=problem)).create_job({})
    assert caught.value.status == 400
    assert caught.value.errors[1] == ("target", "unknown")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (httpx.Response(404, json={"title": "Not Found", "detail": "no such job"}), "no such job"),
        (httpx.Response(403, json={"message": "Forbidden"}), "Forbidden"),
        (httpx.Response(502, text="<html>"), "the API answered 502"),
        (httpx.Response(500, json=["odd"]), "the API answered 500"),
    ],
)
def test_other_refusals_say_what_there_is_to_say(answer: httpx.Response, message: str):
    with pytest.raises(ApiError, match=f"^{message}$"):
        client(answer).get_job("job_1")


def test_no_answer_is_told_apart_from_a_refusal():
    with pytest.raises(UnreachableError, match=r"No answer from https://hourbell\.example"):
        client(httpx.ConnectError("refused")).health()


def test_an_answer_that_is_not_json_is_no_hourbell():
    with pytest.raises(ClientError, match="is it a Hourbell API"):
        client(httpx.Response(200, text="hello")).health()
