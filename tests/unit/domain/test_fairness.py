"""Whose turn it is, and in which order tenants are served."""

from __future__ import annotations

from uuid import UUID

from hourbell.domain.fairness import CLAIMS_BETWEEN_LOOKS, SHARE, Turns, interleave

BIG, OTHER, SMALL = (UUID(int=number) for number in (1, 2, 3))


def test_a_tenant_that_had_its_share_waits_for_the_others():
    turns = Turns()

    turns.note({BIG: SHARE, SMALL: SHARE - 1}, drained=False)
    assert turns.waiting == (BIG,)
    turns.note({OTHER: SHARE}, drained=False)
    assert turns.waiting == (BIG, OTHER)


def test_shares_add_up_over_claims():
    turns = Turns()

    turns.note({BIG: SHARE // 2}, drained=False)
    assert turns.waiting == ()
    turns.note({BIG: SHARE // 2}, drained=False)
    assert turns.waiting == (BIG,)


def test_after_a_look_past_the_backlog_some_claims_are_ordinary_and_it_starts_over():
    turns = Turns()
    turns.note({BIG: SHARE}, drained=False)

    turns.note({SMALL: 10}, drained=True)

    for _ in range(CLAIMS_BETWEEN_LOOKS - 1):
        assert turns.waiting == ()
        turns.note({BIG: SHARE, SMALL: 1}, drained=False)
    assert turns.waiting == ()
    turns.note({OTHER: 1}, drained=False)
    assert turns.waiting == (BIG,)


def test_an_ordinary_claim_that_left_nothing_makes_nobody_late():
    turns = Turns()
    turns.note({SMALL: 1}, drained=True)
    assert turns.waiting == ()


def test_owners_take_turns_and_keep_their_own_order():
    items = [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1), ("c", 2)]

    taken = interleave(items, lambda item: item[0])

    assert taken == [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("c", 2), ("a", 3)]
    assert interleave([], lambda item: item) == []
