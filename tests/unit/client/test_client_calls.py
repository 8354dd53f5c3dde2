"""The HTTP client: what it sends, and how it says what went wrong."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from hourbell.client import ApiError, AsyncClient, Client, ClientError, Retries, UnreachableError


def network(answers: Iterable[httpx.Response | Exception], seen: list[httpx.Request] | None) -> httpx.MockTransport:
    """Answers one after the other; the last one for ever."""
    waiting = list(answers)

    def handle(request: httpx.Request) -> httpx.Response:
        if seen is not None:
            seen.append(request)
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    return httpx.MockTransport(handle)


def client(
    *answers: httpx.Response | Exception,
    seen: list[httpx.Request] | None = None,
    waits: list[float] | None = None,
    **options: Any,
) -> Client:
    return Client(
        "https://hourbell.example/",
        "hb_live_key",
        transport=network(answers, seen),
        sleep=(waits if waits is not None else []).append,
        random=lambda: 0.5,
        **options,
    )


def test_the_key_travels_as_a_bearer_token():
    seen: list[httpx.Request] = []
    client(httpx.Response(200, json={"items": [], "next_cursor": None}), seen=seen).list_jobs(state="active", tag=None)
    assert seen[0].headers["authorization"] == "Bearer hb_live_key"
    assert str(seen[0].url) == "https://hourbell.example/v1/jobs?state=active&limit=50"


def test_creating_calls_carry_an_idempotency_key_each():
    seen: list[httpx.Request] = []
    hourbell = client(httpx.Response(201, json={"id": "job_1"}), seen=seen)
    hourbell.create_job({"schedule": {"every": "5s"}, "target": "t"})
    hourbell.create_job({"schedule": {"every": "5s"}, "target": "t"})
    keys = [request.headers["idempotency-key"] for request in seen]
    assert len(set(keys)) == 2
    assert json.loads(seen[0].content) == {"schedule": {"every": "5s"}, "target": "t"}


def test_reading_calls_carry_none():
    seen: list[httpx.Request] = []
    client(httpx.Response(200, json={"id": "job_1"}), seen=seen).get_job("job_1")
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


UNAVAILABLE = httpx.Response(503, json={"detail": "the database does not answer; try again"})
LOST = httpx.ReadTimeout("no answer")
NOT_SENT = httpx.ConnectError("refused")
JOB = httpx.Response(200, json={"id": "job_1"})


def test_what_a_path_names_is_quoted():
    seen: list[httpx.Request] = []
    client(JOB, seen=seen).get_job("a/b ?é")
    assert seen[0].url.raw_path == b"/v1/jobs/a%2Fb%20%3F%C3%A9"


def test_times_and_several_tags_travel_as_the_api_reads_them():
    seen: list[httpx.Request] = []
    hourbell = client(httpx.Response(200, json={"items": [], "next_cursor": None}), seen=seen)
    hourbell.list_runs(from_=datetime(2027, 3, 14, 7, tzinfo=UTC))
    hourbell.list_jobs(tag=["team:payments", "stage:live"])
    assert seen[0].url.params["from"] == "2027-03-14T07:00:00+00:00"
    assert seen[1].url.params.get_list("tag") == ["team:payments", "stage:live"]


def test_a_time_without_a_zone_is_refused_before_anything_is_sent():
    with pytest.raises(ValueError, match="says nothing of its zone"):
        client(JOB).list_runs(to=datetime(2027, 3, 14, 7))  # noqa: DTZ001


def test_a_version_travels_as_if_match():
    seen: list[httpx.Request] = []
    client(JOB, seen=seen).update_job("job_1", {"tags": {}}, if_version=3)
    assert seen[0].headers["if-match"] == '"3"'


def test_what_may_be_repeated_is_tried_again_with_growing_waits_and_the_same_key():
    seen: list[httpx.Request] = []
    waits: list[float] = []
    hourbell = client(LOST, UNAVAILABLE, NOT_SENT, httpx.Response(201, json={"id": "job_1"}), seen=seen, waits=waits)
    assert hourbell.create_job({})["id"] == "job_1"
    assert len({request.headers["idempotency-key"] for request in seen}) == 1
    assert waits == [0.25, 0.5, 1.0]


def test_it_gives_up_after_the_last_attempt_and_says_what_the_last_one_said():
    seen: list[httpx.Request] = []
    with pytest.raises(ApiError, match="the database does not answer") as caught:
        client(LOST, UNAVAILABLE, seen=seen, retries=Retries(attempts=3)).get_job("job_1")
    assert caught.value.status == 503
    assert len(seen) == 3


def test_what_acts_is_repeated_under_its_key():
    seen: list[httpx.Request] = []
    assert client(LOST, JOB, seen=seen).skip_next("job_1")["id"] == "job_1"
    assert seen[0].headers["idempotency-key"] == seen[1].headers["idempotency-key"]


@pytest.mark.parametrize("lost", [LOST, UNAVAILABLE, httpx.RemoteProtocolError("closed")])
def test_a_conditional_edit_is_not_repeated_since_it_may_have_made_its_own_condition_false(
    lost: httpx.Response | Exception,
):
    seen: list[httpx.Request] = []
    with pytest.raises(ClientError):
        client(lost, JOB, seen=seen).update_job("job_1", {}, if_version=3)
    assert len(seen) == 1


@pytest.mark.parametrize("undone", [NOT_SENT, httpx.ConnectTimeout("slow"), httpx.Response(429)])
def test_what_was_certainly_not_done_is_tried_again(undone: httpx.Response | Exception):
    assert client(undone, JOB).update_job("job_1", {}, if_version=3)["id"] == "job_1"


def test_a_call_that_is_still_being_carried_out_is_asked_for_again():
    waits: list[float] = []
    under_way = httpx.Response(409, headers={"retry-after": "1"}, json={"detail": "is being carried out"})
    assert client(LOST, under_way, JOB, waits=waits).trigger_job("job_1")["id"] == "job_1"
    assert waits == [0.25, 1.0]


def test_a_conflict_is_final():
    seen: list[httpx.Request] = []
    with pytest.raises(ApiError):
        client(httpx.Response(409, json={"detail": "the name is taken"}), JOB, seen=seen).create_job({})
    assert len(seen) == 1


def test_a_repeated_deletion_that_finds_nothing_was_done_before():
    missing = httpx.Response(404, json={"detail": "no such job"})
    assert client(LOST, missing).delete_job("job_1") is None
    with pytest.raises(ApiError, match="no such job"):
        client(missing).delete_job("job_1")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, [7.0]),
        ({"retry-after": "Sun, 09 May 2027 12:00:09 GMT", "date": "Sun, 09 May 2027 12:00:00 GMT"}, [9.0]),
        ({"retry-after": "Sun, 09 May 2027 11:00:00 GMT", "date": "Sun, 09 May 2027 12:00:00 GMT"}, [0.25]),
        ({"retry-after": "soon"}, [0.25]),
        ({}, [0.25]),
    ],
)
def test_retry_after_is_waited_for(headers: dict[str, str], expected: list[float]):
    waits: list[float] = []
    client(httpx.Response(429, headers=headers), JOB, waits=waits).get_job("job_1")
    assert waits == expected


def test_a_wait_beyond_the_maximum_fails_at_once():
    waits: list[float] = []
    with pytest.raises(ApiError) as caught:
        client(httpx.Response(429, headers={"retry-after": "3600"}), JOB, waits=waits).get_job("job_1")
    assert caught.value.status == 429
    assert waits == []


def test_other_refusals_are_final():
    seen: list[httpx.Request] = []
    with pytest.raises(ApiError):
        client(httpx.Response(500), JOB, seen=seen).get_job("job_1")
    assert len(seen) == 1


def test_problems_of_one_status_are_told_apart_by_their_kind():
    problem = {"type": "urn:hourbell:problem:lease-lost", "title": "Lease lost", "status": 409}
    with pytest.raises(ApiError) as caught:
        client(httpx.Response(409, json=problem)).heartbeat_run("run_1", "token")
    assert caught.value.kind == "lease-lost"


PAGES = (
    httpx.Response(200, json={"items": [{"id": "run_1"}, {"id": "run_2"}], "next_cursor": "further"}),
    httpx.Response(200, json={"items": [], "next_cursor": "still further"}),
    httpx.Response(200, json={"items": [{"id": "run_3"}], "next_cursor": None}),
)


def test_an_iterator_asks_for_page_after_page_with_the_same_filters():
    seen: list[httpx.Request] = []
    found = [run["id"] for run in client(*PAGES, seen=seen).iter_runs(state="dead", limit=2)]
    assert found == ["run_1", "run_2", "run_3"]
    assert [request.url.params.get("cursor") for request in seen] == [None, "further", "still further"]
    assert {request.url.params["state"] for request in seen} == {"dead"}


def test_an_iterator_asks_for_nothing_before_it_is_asked():
    seen: list[httpx.Request] = []
    runs = client(*PAGES, seen=seen).iter_runs()
    assert seen == []
    next(runs)
    assert len(seen) == 1


def test_the_asynchronous_client_does_the_same():
    seen: list[httpx.Request] = []
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def use() -> list[str]:
        answers = [UNAVAILABLE, JOB, *PAGES]
        hourbell = AsyncClient(
            "https://hourbell.example/", "k", transport=network(answers, seen), sleep=sleep, random=lambda: 0.5
        )
        async with hourbell:
            job = await hourbell.create_job({"target": "t"})
            return [job["id"], *[run["id"] async for run in hourbell.iter_job_runs(job["id"])]]

    assert asyncio.run(use()) == ["job_1", "run_1", "run_2", "run_3"]
    assert waits == [0.25]
    assert seen[0].headers["idempotency-key"] == seen[1].headers["idempotency-key"]
    assert [request.url.path for request in seen[2:]] == ["/v1/jobs/job_1/runs"] * 3


def test_the_asynchronous_client_says_the_same_of_no_answer():
    async def use() -> None:
        transport = network([NOT_SENT], None)
        async with AsyncClient(
            "https://hourbell.example", "k", transport=transport, retries=Retries(attempts=1)
        ) as api:
            await api.health()

    with pytest.raises(UnreachableError, match=r"No answer from https://hourbell\.example: refused"):
        asyncio.run(use())


def test_methods_say_what_they_do_and_take():
    hourbell = client(JOB)
    assert hourbell.pause_job.__doc__ == Client.pause_job.__doc__
    assert "Silence a job" in str(hourbell.pause_job.__doc__)
    assert "Every run" in str(hourbell.iter_runs.__doc__)


def test_importing_the_client_imports_no_http_library():
    code = "import sys, hourbell.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert {"httpx", "pydantic", "asyncio", "email"}.isdisjoint(done.stdout.split())
