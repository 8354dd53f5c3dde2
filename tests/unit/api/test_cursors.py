"""Cursors: good for one list of one tenant, and unforgeable."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hourbell.api.cursors import LIFETIME, Cursors, Listing
from hourbell.domain.errors import FieldErrors

NOW = datetime(2027, 5, 9, 12, 0, tzinfo=UTC)
JOBS = Listing(name="jobs", tenant_id=UUID(int=1), filters={"state": "active", "tag": ["a:b"]})
CURSORS = Cursors(lambda: b"secret")


def test_a_cursor_gives_its_position_back():
    text = CURSORS.issue(JOBS, [1234567890123, "ab"], now=NOW)

    assert CURSORS.read(JOBS, text, now=NOW + LIFETIME) == [1234567890123, "ab"]
    assert Cursors(lambda: b"secret").read(JOBS, text, now=NOW) == [1234567890123, "ab"]


@pytest.mark.parametrize("position", ["a", "ab", "abc"])
def test_every_changed_letter_is_noticed(position):
    text = CURSORS.issue(JOBS, [position], now=NOW)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    for index, letter in enumerate(text):
        for other in {alphabet[(alphabet.index(letter) + step) % 64] for step in (1, 2, 32, 63)}:
            with pytest.raises(FieldErrors):
                CURSORS.read(JOBS, text[:index] + other + text[index + 1 :], now=NOW)


@pytest.mark.parametrize(
    "listing",
    [
        Listing(name="runs", tenant_id=JOBS.tenant_id, filters=JOBS.filters),
        Listing(name="jobs", tenant_id=UUID(int=2), filters=JOBS.filters),
        Listing(name="jobs", tenant_id=JOBS.tenant_id, filters={}),
        Listing(name="jobs", tenant_id=JOBS.tenant_id, filters={**JOBS.filters, "state": None}),
        Listing(name="jobs", tenant_id=JOBS.tenant_id, filters={**JOBS.filters, "tag": ["a", "b"]}),
    ],
)
def test_another_list_does_not_take_it(listing):
    with pytest.raises(FieldErrors):
        CURSORS.read(listing, CURSORS.issue(JOBS, ["ab"], now=NOW), now=NOW)


def test_it_ends_and_does_not_begin_early():
    text = CURSORS.issue(JOBS, ["ab"], now=NOW)

    CURSORS.read(JOBS, text, now=NOW - timedelta(seconds=30))
    for now in (NOW + LIFETIME + timedelta(seconds=1), NOW - timedelta(minutes=2)):
        with pytest.raises(FieldErrors):
            CURSORS.read(JOBS, text, now=now)


def test_another_secret_does_not_open_it():
    with pytest.raises(FieldErrors):
        Cursors(lambda: b"other").read(JOBS, CURSORS.issue(JOBS, ["ab"], now=NOW), now=NOW)


@pytest.mark.parametrize(
    "text", ["", "A", "AAAA", "=", "A" * 600, "!!!!", "\u00e9", "\0", base64.b64encode(b"\xff" * 40).decode()]
)
def test_garbage(text):
    with pytest.raises(FieldErrors) as caught:
        CURSORS.read(JOBS, text, now=NOW)
    assert caught.value.errors[0].field == "cursor"
