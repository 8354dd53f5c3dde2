"""Finding jobs: by words, tags, name prefix, target, state and due time, in pages that writes do not disturb."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hourbell.domain.instants import format_instant
from hourbell.store import job_lists

from tests.integration.api.conftest import Client
from tests.seeds import T0


@pytest.fixture
def found(client: Client):
    def names(**query) -> list[str]:
        answer = client.get("/v1/jobs", query=query)
        assert answer.status == 200, answer.text
        return [job["name"] for job in answer.json["items"]]

    return names


def jobs(client: Client, *wanted: tuple[str, dict]) -> None:
    """Each a millisecond after the other, so that the last comes first."""
    for name, members in wanted:
        client.job(name=name, **members)
        client.now += timedelta(milliseconds=1)


def test_each_word_begins_a_word_of_the_name_or_of_a_tags_value(client: Client, found):
    jobs(
        client,
        ("Nightly-Payments_EU", {}),
        ("nightly", {"tags": {"team": "Core Payments", "cost-center": "77"}}),
        ("midnight", {}),
        ("Überweisung:prüfen", {}),
        ("it's 100% o\\k", {"tags": {"quote": "a'b"}}),
    )

    assert found(q="night") == ["nightly", "Nightly-Payments_EU"]
    assert found(q="PAY night") == ["nightly", "Nightly-Payments_EU"]
    assert found(q="eu") == ["Nightly-Payments_EU"]
    assert found(q="77") == ["nightly"]
    assert found(q="team") == []
    assert found(q="prüf Über") == ["Überweisung:prüfen"]
    assert found(q="100% o\\k 's") == ["it's 100% o\\k"]
    assert found(q="a'b") == ["it's 100% o\\k"]
    assert found(q="night", name="midnight") == []


def test_a_tag_matches_whole_and_to_the_letter(client: Client, found):
    jobs(client, ("a", {"tags": {"team": "Pay's \\ 1:2"}}), ("b", {"tags": {"team": "pay"}}), ("team:pay", {}))

    assert found(tag="team:Pay's \\ 1:2") == ["a"]
    assert found(tag="team:pay") == ["b"]
    assert found(tag="team:PAY") == []
    assert found(tag="tea:pay") == []


def test_what_a_name_begins_with_is_to_the_letter(client: Client, found):
    jobs(client, ("a_1", {}), ("ab1", {}), ("A_1", {}), ("a%", {}), ("a\\b", {}))

    assert found(name_prefix="a_") == ["a_1"]
    assert found(name_prefix="a%") == ["a%"]
    assert found(name_prefix="a\\") == ["a\\b"]
    assert found(name_prefix="a") == ["a\\b", "a%", "ab1", "a_1"]


def test_what_is_due_before_a_time_planned_ahead_or_not(client: Client, found, admin):
    def at(minutes: float) -> dict:
        return {"schedule": {"at": format_instant(T0 + timedelta(minutes=minutes))}}

    jobs(
        client,
        ("soon", at(1)),
        ("later", at(10)),
        ("far", at(100)),
        ("hourly", {}),
        ("paused", {**at(10), "paused": True}),
    )

    def before(minutes: float, **query) -> list[str]:
        return found(due_before=format_instant(T0 + timedelta(minutes=minutes)), **query)

    assert before(1) == []
    assert before(2) == ["soon"]
    assert before(11) == ["later", "soon"]
    assert before(61) == ["hourly", "later", "soon"]
    assert before(200, q="far later") == []
    assert before(200, q="far", state="active") == ["far"]
    assert before(200, state="completed") == []
    admin.execute("update run set state = 'succeeded', wake_at = null")
    assert before(2) == []


def test_completed_is_what_has_no_run_that_has_not_ended(client: Client, found, admin):
    jobs(client, ("soon", {"schedule": {"at": format_instant(T0 + timedelta(minutes=1))}}), ("hourly", {}))

    assert (found(state="active"), found(state="completed")) == (["hourly", "soon"], [])
    assert (found(state="active", q="soon"), found(state="completed", q="soon")) == (["soon"], [])
    admin.execute("update run set state = 'succeeded', wake_at = null")
    assert (found(state="active"), found(state="completed")) == (["hourly"], ["soon"])
    assert (found(state="active", q="soon"), found(state="completed", q="soon")) == ([], ["soon"])


HOUR = {"due_before": format_instant(T0 + timedelta(hours=2))}
FILTERS = [
    {"q": "old"},
    {"q": "old l"},
    {"tag": "side:left"},
    {"tag": ["side:left", "age:old"]},
    {"tag": ["side:left", "hand:second"]},
    {"name_prefix": "old-"},
    {"name": "old-3"},
    {"name": "old-3", "state": "paused"},
    {"target": "other"},
    {"target": "other", "state": "active"},
    {"target": "other", "state": "paused"},
    {"state": "active"},
    {"state": "completed"},
    {"state": "paused", "q": "old"},
    {"state": "active", "name_prefix": "new-", "tag": "side:left"},
    {"state": "completed", "tag": "age:new"},
    HOUR,
    {**HOUR, "state": "active"},
    {**HOUR, "tag": "age:old", "target": "sink"},
    {**HOUR, "name_prefix": "new-", "q": "old"},
]


@pytest.fixture
def various(client: Client, admin):
    """Old and new jobs of every state and of two targets; of those that are completed some have a run that waits."""
    client.target(name="other")
    soon = {"schedule": {"at": format_instant(T0 + timedelta(seconds=90))}}
    later = {"schedule": {"at": format_instant(T0 + timedelta(hours=5))}}
    for number in range(24):
        age = "old" if number < 16 else "new"
        side, hand = ("left", "first") if number % 2 else ("right", "second")
        members = {
            **(soon if number % 3 == 0 else later if number % 4 == 1 else {}),
            "target": "other" if number % 5 == 0 else "sink",
            "paused": number % 4 == 3,
            "tags": {"age": age, "side": side, "hand": hand},
        }
        jobs(client, (f"{age}-{number}", members))
    admin.execute(
        "update run set state = 'succeeded', wake_at = null "
        "where job_id in (select job_id from run order by job_id limit 3)"
    )


@pytest.mark.parametrize("few", [0, 4, 10])
def test_pages_with_little_to_look_at_list_the_same_in_the_end(client: Client, various, monkeypatch, subtests, few):
    whole = [client.get("/v1/jobs", query=query).json for query in FILTERS]
    assert {page["next_cursor"] for page in whole} == {None}
    for name, value in {"NEAR_WINDOW": 2, "WINDOW": 5, "LOOKUP_WINDOW": 3, "DEEP_WINDOW": 2, "FEW": few}.items():
        monkeypatch.setattr(job_lists, name, value)

    for query, page in zip(FILTERS, whole, strict=True):
        with subtests.test(query=query):
            assert every_job(client, query, at_most=len(page["items"]) + 24) == page["items"]


def every_job(client: Client, query: dict, *, at_most: int) -> list[dict]:
    """What the pages of two hold, of which there may be so many."""
    found, cursor = [], {}
    for _ in range(at_most):
        page = client.get("/v1/jobs", query={**query, "limit": 2, **cursor}).json
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}
    raise AssertionError("the pages do not end")


def test_a_page_looks_at_a_window_and_says_where_to_go_on(client: Client, found, monkeypatch):
    monkeypatch.setattr(job_lists, "NEAR_WINDOW", 1)
    monkeypatch.setattr(job_lists, "WINDOW", 2)
    monkeypatch.setattr(job_lists, "FEW", 1)
    jobs(client, *((f"old-{number}", {}) for number in range(3)), *((f"new-{number}", {}) for number in range(3)))

    empty = client.get("/v1/jobs", query={"name_prefix": "old"}).json
    short = client.get("/v1/jobs", query={"name_prefix": "old", "cursor": empty["next_cursor"]}).json

    assert empty["items"] == []
    assert [job["name"] for job in short["items"]] == ["old-2"]
    assert short["next_cursor"] is not None


def test_what_few_jobs_have_is_found_however_old_they_are(client: Client, found, monkeypatch):
    monkeypatch.setattr(job_lists, "NEAR_WINDOW", 1)
    monkeypatch.setattr(job_lists, "WINDOW", 2)
    monkeypatch.setattr(job_lists, "LOOKUP_WINDOW", 2)
    jobs(client, *((f"old-{number}", {}) for number in range(3)), *((f"new-{number}", {}) for number in range(3)))

    assert found(q="old") == ["old-2", "old-1", "old-0"]
    assert found(due_before=format_instant(T0 + timedelta(hours=2)))[-1] == "old-0"


def test_what_many_have_is_told_by_a_sample(client: Client, admin, monkeypatch):
    """A word that many jobs have is not read to its end only to learn that they are many."""
    jobs(client, *((f"old-{number}", {}) for number in range(6)))
    (sampled,) = admin.execute("select count(*) from job where uuid_hash(job_id) & 63 = 0").fetchone()
    monkeypatch.setattr(job_lists, "NEAR_WINDOW", 1)
    monkeypatch.setattr(job_lists, "WINDOW", 2)
    monkeypatch.setattr(job_lists, "SAMPLE", sampled - 1)
    monkeypatch.setattr(job_lists, "_few", lambda *_: pytest.fail("read"))

    assert client.get("/v1/jobs", query={"q": "old"}).json["next_cursor"] is not None


def test_tenants_have_no_term_in_common(client: Client, stranger: Client, admin):
    stranger.target()
    for one in (client, stranger):
        jobs(one, ("same", {"tags": {"a": "b"}}))

    rows = admin.execute("select tsvector_to_array(tenant_terms(tenant_id, terms)), terms::text from job").fetchall()

    (ours, same), (theirs, as_theirs) = rows
    assert same == as_theirs
    assert not set(ours) & set(theirs)


@pytest.mark.parametrize(
    "query", [{"q": "job"}, {"tag": "a:b"}, {"name_prefix": "job"}, {"state": "active"}, {"target": "sink"}, {}]
)
def test_pages_are_stable_under_writes(client: Client, query):
    jobs(client, *((f"job-{number}", {"tags": {"a": "b"}}) for number in range(5)))
    first = client.get("/v1/jobs", query={**query, "limit": 2}).json
    jobs(client, ("job-new", {"tags": {"a": "b"}}))
    client.delete(f"/v1/jobs/{first['items'][0]['id']}")
    client.patch(f"/v1/jobs/{first['items'][1]['id']}", {"payload": 1})

    rest, cursor = [], first["next_cursor"]
    while cursor is not None:
        page = client.get("/v1/jobs", query={**query, "limit": 2, "cursor": cursor}).json
        rest += [job["name"] for job in page["items"]]
        cursor = page["next_cursor"]

    assert [job["name"] for job in first["items"]] == ["job-4", "job-3"]
    assert rest == ["job-2", "job-1", "job-0"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"q": "-_'\" "}, "q"),
        ({"q": ""}, "q"),
        ({"q": "x" * 201}, "q"),
        ({"name_prefix": "x" * 201}, "name_prefix"),
        ({"tag": "a:" + "x" * 400}, "tag"),
        ({"tag": "a"}, "tag"),
        ({"due_before": "tomorrow"}, "due_before"),
    ],
)
def test_what_cannot_be_searched_for_is_refused_by_its_name(client: Client, query, field):
    answer = client.get("/v1/jobs", query=query)

    assert (answer.status, answer.fields) == (400, [field])


def test_nothing_of_another_tenant_is_found(client: Client, stranger: Client):
    jobs(client, ("secret", {"tags": {"a": "b"}}))

    for query in ({"q": "secret"}, {"tag": "a:b"}, {"name_prefix": "s"}, {"due_before": "2028-01-01T00:00:00Z"}):
        assert stranger.get("/v1/jobs", query=query).json["items"] == []
