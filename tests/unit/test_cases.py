"""Every case of tests/cases (how schedulers failed their users, and hostile input) has the tests that hold it.

A case without a test fails here, and so does a test that was renamed or removed. The cases of time.json are run one by
one in tests/unit/domain/test_time_cases.py.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

SCHEDULER = {
    "D03": (
        "test_ten_thousand_due_at_once_go_out_at_a_hundred_a_second",
        "test_another_target_is_not_delayed",
        "test_the_pace_of_a_target_holds_within_the_quota_of_its_tenant",
    ),
    "D04": ("test_two_years_of_missed_seconds_are_counted_not_walked",),
    "D05": ("test_d05_resume_after_a_weekend_neither_bursts_nor_stays_dead",),
    "D06": ("test_d06_an_interval_counts_from_its_anchor_however_long_runs_take",),
    "D07": (
        "test_overlap_skip_runs_again_once_the_first_has_ended",
        "test_racing_workers_never_run_two_of_a_job_that_skips",
    ),
    "D08": ("test_d08_saving_a_job_while_it_is_due_does_not_lose_the_run",),
    "D09": ("test_d09_a_changed_schedule_drops_what_was_queued_for_the_old_one",),
    "D10": ("test_d10_an_edit_to_an_earlier_day_is_not_a_missed_run",),
    "D11": ("test_d11_delete_wins_over_a_worker_that_finishes_and_a_message_that_waits",),
    "D12": ("test_two_racing_scanners_make_each_run_once", "test_planning_a_waiting_occurrence_again_only_confirms_it"),
    "D14": ("test_a_clock_that_jumps_forward_and_back_fires_nothing_twice",),
    "D15": (
        "test_the_run_of_a_worker_that_was_killed_in_its_call_goes_on_in_the_solo_lane",
        "test_a_dead_holders_slot_is_free_when_its_lease_ends",
    ),
    "D17": ("test_what_a_worker_writes_that_was_frozen_past_its_lease_does_not_count",),
    "D19": (
        "test_a_deadlock_repeats_the_transaction_and_both_end_well",
        "test_a_serialization_failure_repeats_on_the_same_connection",
        "test_two_workers_whose_targets_are_gone_do_not_deadlock",
    ),
    "D20": ("test_a_row_whose_lock_was_rolled_back_is_claimed_by_the_next_tick",),
    "D21": (
        "test_the_clusters_parameters_keep_the_hot_table_fast",
        "test_a_claim_reads_index_ranges_in_order_and_sorts_nothing",
    ),
    "D22": ("test_transaction_ids_are_watched_halfway_and_again_at_three_quarters",),
    "D23": ("test_a_query_says_what_it_guarantees_and_pins_nothing", "test_one_connection_serves_all_transactions"),
    "D24": ("test_a_connection_that_points_at_a_reader_is_replaced", "test_an_admin_shutdown_is_survived"),
    "D25": (
        "test_the_response_names_message_ids_under_the_keys_sqs_reads",
        "test_nothing_failed_is_an_empty_list",
        "test_an_outcome_that_could_not_be_recorded_brings_the_message_back",
    ),
    "D26": ("test_a_worker_reports_each_failed_message",),
    "D29": (
        "test_a_message_stays_hidden_six_times_as_long_as_its_worker_may_run",
        "test_the_heartbeat_keeps_the_message_of_a_long_run_before_its_visibility_ends",
    ),
    "D31": (
        "test_a_dead_workers_run_goes_on_in_the_solo_lane_and_its_attempt_crashed",
        "test_a_crash_at_the_attempt_limit_is_dead",
        "test_a_lane_moves_what_it_cannot_deliver_to_its_dead_letters",
        "test_readable_and_unreadable_messages_are_kept_apart",
        "test_a_letter_that_the_lane_refuses_stays",
    ),
    "D33": ("test_a_missed_one_off_runs_late", "test_the_oldest_row_of_a_shard_is_claimed_first"),
    "D34": ("test_one_bad_row_never_stops_the_others",),
    "D36": ("test_limits_of_aws_are_written_once_with_the_day_they_were_read",),
}

SECURITY = {
    "E01": (
        "test_the_known_tricks_are_refused",
        "test_an_ipv4_address_inside_an_ipv6_one_is_refused_even_where_private_ones_are_allowed",
    ),
    "E03": ("test_never_connect", "test_the_known_tricks_are_refused"),
    "E04": (
        "test_the_checked_address_is_the_one_connected_to",
        "test_one_bad_address_among_good_ones_refuses_the_name",
        "test_an_answer_that_changes_is_checked_again_with_the_next_connection",
    ),
    "E06": ("test_the_known_tricks_are_refused", "test_what_passes_means_the_same_host_to_every_reader"),
    "E07": ("test_the_known_tricks_are_refused", "test_what_is_no_targets_url"),
    "E08": ("test_a_bad_header_is_refused_when_the_target_is_made",),
    "E09": (
        "test_hostile_values_are_refused_by_path",
        "test_a_key_with_nul_is_refused_at_its_object",
        "test_odd_but_legal_payloads_survive_unchanged",
    ),
    "E10": ("test_hostile_values_are_refused_by_path", "test_lookalikes_survive_unchanged"),
    "E13": ("test_hostile_values_are_refused_by_path",),
    "E16": ("test_a_bad_job_is_refused_by_its_field", "test_what_is_no_json_or_too_much"),
    "E17": (
        "test_the_same_request_is_answered_the_same_also_when_its_time_has_passed",
        "test_another_request_under_the_same_key_is_422",
        "test_tenants_may_use_the_same_key",
        "test_while_one_is_carried_out_the_other_is_told_to_come_back",
        "test_what_was_refused_may_be_sent_again_with_its_key",
    ),
    "E18": (
        "test_every_changed_letter_is_noticed",
        "test_another_list_does_not_take_it",
        "test_another_secret_does_not_open_it",
        "test_it_ends_and_does_not_begin_early",
    ),
    "E19": ("test_another_tenants_id_is_as_unknown_as_any", "test_lists_and_names_stop_at_the_wall"),
}

# All of security.json is sent to the deployed stack, too.
ON_THE_STACK = "test_a_hostile_client_of_the_stack_gets_what_the_case_says"
HELD = {**SCHEDULER, **{case: (*held, ON_THE_STACK) for case, held in SECURITY.items()}}


@cache
def known_tests() -> frozenset[str]:
    """The names of all test functions."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in TESTS.rglob("test_*.py"))
    functions = (node for tree in trees for node in ast.walk(tree))
    return frozenset(node.name for node in functions if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize(("file", "held"), [("scheduler.json", SCHEDULER), ("security.json", SECURITY)])
def test_every_case_has_its_tests_and_no_other(file: str, held: dict[str, tuple[str, ...]]):
    cases = json.loads((TESTS / "cases" / file).read_text(encoding="utf-8"))["cases"]
    assert held.keys() == {case["id"] for case in cases}


@pytest.mark.parametrize("case", HELD)
def test_the_tests_of_a_case_are_there(case: str):
    assert HELD[case]
    assert set(HELD[case]) <= known_tests()
