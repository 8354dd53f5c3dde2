"""Lanes, ticks and the way runs are delivered."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hourbell.domain import limits, run_state

from cdk.settings import PROD, SHARDS, FunctionSettings, LaneSettings, Pollers, StageError, StageSettings
from tests.infrastructure.templates import Assembly, Resource, Synthesise


def mapping(assembly: Assembly, worker: str) -> Resource:
    mappings = assembly.of_type("AWS::Lambda::EventSourceMapping")
    (found,) = [resource for resource in mappings if resource.id.startswith(worker)]
    return found


def queue(assembly: Assembly, name: str) -> Resource:
    (found,) = [resource for resource in assembly.of_type("AWS::SQS::Queue") if resource.name == name]
    return found


def test_a_worker_reports_each_failed_message(assembly: Assembly) -> None:
    mappings = assembly.of_type("AWS::Lambda::EventSourceMapping")
    assert len(mappings) == 2
    for resource in mappings:
        assert resource.properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_the_shared_lane_runs_batches_and_the_solo_lane_one_at_a_time(assembly: Assembly) -> None:
    assert mapping(assembly, "WorkerShared").properties["BatchSize"] == limits.SQS_BATCH
    assert mapping(assembly, "WorkerSolo").properties["BatchSize"] == 1


@pytest.mark.parametrize("lane", ["Shared", "Solo"])
def test_a_message_stays_hidden_six_times_as_long_as_its_worker_may_run(assembly: Assembly, lane: str) -> None:
    worker = assembly.functions()[f"worker-{lane.lower()}"].properties["Timeout"]
    window = mapping(assembly, f"Worker{lane}").properties["MaximumBatchingWindowInSeconds"]
    assert queue(assembly, f"Lanes{lane}Queue").properties["VisibilityTimeout"] >= 6 * worker + window


@pytest.mark.parametrize("lane", ["Shared", "Solo"])
def test_a_lane_moves_what_it_cannot_deliver_to_its_dead_letters(assembly: Assembly, lane: str) -> None:
    redrive = queue(assembly, f"Lanes{lane}Queue").properties["RedrivePolicy"]
    assert assembly.text(redrive["deadLetterTargetArn"]) == f"Lanes{lane}DeadLetters.Arn"
    assert redrive["maxReceiveCount"] == 5


def test_every_queue_is_encrypted_and_refuses_plain_http(assembly: Assembly) -> None:
    queues = assembly.of_type("AWS::SQS::Queue")
    closed = {
        assembly.text(policy.properties["Queues"][0])
        for policy in assembly.of_type("AWS::SQS::QueuePolicy")
        for statement in policy.properties["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }
    assert closed == {resource.name for resource in queues}
    assert all(resource.properties["SqsManagedSseEnabled"] for resource in queues)


def test_a_shared_worker_outlives_the_longest_run_it_is_given(settings: StageSettings) -> None:
    """Held, then executed, then recorded."""
    longest = {"worker-shared": run_state.SHARED_TIMEOUT_MS, "worker-solo": limits.TIMEOUT_MAX_MS}
    for worker, run_ms in longest.items():
        assert settings.functions[worker].timeout_seconds >= settings.hold_seconds + run_ms / 1000 + 10


@pytest.mark.parametrize("scanners", [1, 2, 3, 5, 7, 64, 128])
def test_scanners_split_all_shards_evenly(scanners: int) -> None:
    ranges = replace(PROD, scanners=scanners).shard_ranges()
    sizes = [last - first + 1 for first, last in ranges]
    assert [shard for first, last in ranges for shard in range(first, last + 1)] == list(range(SHARDS))
    assert len(ranges) == scanners
    assert max(sizes) - min(sizes) <= 1


def test_each_scanner_ticks_every_minute_with_its_shards(assembly: Assembly, settings: StageSettings) -> None:
    rules = [resource for resource in assembly.of_type("AWS::Events::Rule") if resource.id.startswith("ScannerTicks")]
    inputs = [json.loads(rule.properties["Targets"][0]["Input"]) for rule in rules]
    assert {rule.properties["ScheduleExpression"] for rule in rules} == {"rate(1 minute)"}
    assert [(shards["first_shard"], shards["last_shard"]) for shards in inputs] == settings.shard_ranges()


def test_reaper_freezer_and_loader_tick_every_minute_partitioner_and_replanner_daily(assembly: Assembly) -> None:
    rates = {rule.name: rule.properties["ScheduleExpression"] for rule in assembly.of_type("AWS::Events::Rule")}
    for name in ("Reaper", "Freezer", "Loader"):
        assert rates[f"{name}TicksEvery"] == "rate(1 minute)"
    assert rates["PartitionerTicksEvery"] == rates["ReplannerTicksEvery"] == "rate(1 day)"


def test_a_daily_check_does_what_is_left_and_does_not_start_over(assembly: Assembly) -> None:
    (rule,) = [rule for rule in assembly.of_type("AWS::Events::Rule") if rule.id.startswith("ReplannerTicks")]
    assert json.loads(rule.properties["Targets"][0]["Input"]) == {}


def test_a_daily_task_that_fails_is_tried_again(assembly: Assembly) -> None:
    configs = {config.name: config.properties for config in assembly.of_type("AWS::Lambda::EventInvokeConfig")}
    for name in ("PartitionerTicksInvoke", "ReplannerTicksInvoke"):
        assert configs[name]["MaximumRetryAttempts"] == 2


def test_a_late_or_failed_scan_is_left_to_the_next_tick(assembly: Assembly) -> None:
    configs = {config.name: config.properties for config in assembly.of_type("AWS::Lambda::EventInvokeConfig")}
    for name in ("ScannerTicksInvoke", "ReaperTicksInvoke", "FreezerTicksInvoke", "LoaderTicksInvoke"):
        assert configs[name]["MaximumRetryAttempts"] == 0
        assert configs[name]["MaximumEventAgeInSeconds"] == 60


def test_the_stage_settings_know_as_many_shards_as_the_domain() -> None:
    assert SHARDS == limits.SHARDS


def test_maximum_concurrency_and_pollers_exclude_each_other() -> None:
    with pytest.raises(StageError, match="exclude each other"):
        LaneSettings(batch_size=10, max_concurrency=10, pollers=Pollers(minimum=2, maximum=4))
    with pytest.raises(StageError, match="exclude each other"):
        LaneSettings(batch_size=10)


def test_snap_start_and_provisioned_concurrency_exclude_each_other() -> None:
    with pytest.raises(StageError, match="exclude each other"):
        FunctionSettings(memory_mb=512, timeout_seconds=10, snap_start=True, provisioned=2)


def test_a_stage_for_midnight_spikes_has_pollers_and_provisioned_workers(synthesise: Synthesise) -> None:
    lanes = {**PROD.lanes, "shared": LaneSettings(batch_size=10, pollers=Pollers(minimum=5, maximum=50))}
    worker = FunctionSettings(memory_mb=1024, timeout_seconds=120, provisioned=20)
    functions = {**PROD.functions, "worker-shared": worker}
    spiky = synthesise(replace(PROD, name="spiky", lanes=lanes, functions=functions, tracing=True))
    properties = mapping(spiky, "WorkerShared").properties
    (alias,) = [resource for resource in spiky.of_type("AWS::Lambda::Alias") if resource.name == "WorkerSharedLive"]
    assert properties["ProvisionedPollerConfig"] == {"MinimumPollers": 5, "MaximumPollers": 50}
    assert "ScalingConfig" not in properties
    assert alias.properties["ProvisionedConcurrencyConfig"] == {"ProvisionedConcurrentExecutions": 20}
