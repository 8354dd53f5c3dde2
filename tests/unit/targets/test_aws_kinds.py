"""Every kind in AWS against the services in process: what arrives there, and what counts as success."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from hourbell.domain.errors import FieldError
from hourbell.domain.ids import encode
from hourbell.domain.instants import format_instant
from hourbell.domain.outcome import AttemptOutcome, AttemptResult
from hourbell.domain.target_kind import TargetKind
from hourbell.targets.arns import AllowedTargets
from hourbell.targets.aws import AwsCaller, AwsService
from hourbell.targets.call import TargetCall
from hourbell.targets.registry import Callers, call_target
from moto import mock_aws

from tests.seeds import T0
from tests.unit.targets.calls import ACCOUNT, JOB, LEASE, REGION, RULES, RUN, target_call

OK = AttemptOutcome.SUCCEEDED
FAILED = AttemptOutcome.FAILED
ABOUT = {
    "run_id": encode("run", RUN),
    "attempt": 2,
    "job_id": encode("job", JOB),
    "scheduled_for": format_instant(T0),
    "lease_token": str(LEASE),
}


class Services:
    """The clients of one environment; ``asked`` keeps which were made, ``answers`` replaces what a call answers."""

    def __init__(self) -> None:
        self.asked: list[AwsService] = []
        self.caller = AwsCaller(self.client, RULES)
        self.stub: Any = None

    def client(self, service: AwsService) -> Any:
        self.asked.append(service)
        return self.stub or boto3.client(service.name, region_name=service.region)  # type: ignore[call-overload]

    def call(self, kind: TargetKind, call: TargetCall) -> AttemptResult:
        callers = Callers(http=None, aws=lambda: self.caller)  # type: ignore[arg-type]
        return asyncio.run(call_target(kind, callers, call))


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    config: Any = {"lambda": {"use_docker": False}}
    with mock_aws(config=config):
        yield Services()


def queue(name: str, region: str = REGION, **attributes: str) -> tuple[Any, str]:
    sqs = boto3.client("sqs", region_name=region)
    return sqs, sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]


def received(sqs: Any, url: str) -> list[Any]:
    reply = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"]
    )
    return reply.get("Messages", [])


# --- sqs ---


def test_a_queue_gets_the_payload_to_the_letter_and_the_run_beside_it(aws: Services):
    sqs, url = queue("jobs")

    result = aws.call(TargetKind.SQS, target_call({"queue_url": url, "message_group_id": None}))

    assert (result.outcome, result.status_code) == (OK, 200)
    (message,) = received(sqs, url)
    assert message["Body"] == '{"n": 1.50}'
    attributes = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    assert attributes == {
        "Hourbell-Run": ABOUT["run_id"],
        "Hourbell-Attempt": "2",
        "Hourbell-Job": ABOUT["job_id"],
        "Hourbell-Scheduled-For": ABOUT["scheduled_for"],
        "Hourbell-Lease-Token": ABOUT["lease_token"],
    }


@pytest.mark.parametrize(("group", "expected"), [(None, encode("job", JOB)), ("ledger", "ledger")])
def test_a_fifo_queue_gets_each_run_once_however_often_it_is_attempted(aws: Services, group: Any, expected: str):
    sqs, url = queue("jobs.fifo", FifoQueue="true")
    config = {"queue_url": url, "message_group_id": group}

    for attempt in (1, 2, 3):
        assert aws.call(TargetKind.SQS, target_call(config, attempt=attempt)).outcome is OK

    (message,) = received(sqs, url)
    assert message["Attributes"]["MessageGroupId"] == expected
    assert message["Attributes"]["MessageDeduplicationId"] == encode("run", RUN)


def test_a_queue_is_called_in_its_own_region(aws: Services):
    sqs, url = queue("far", region="us-west-2")
    assert aws.call(TargetKind.SQS, target_call({"queue_url": url})).outcome is OK
    assert [service.region for service in aws.asked] == ["us-west-2"]
    assert len(received(sqs, url)) == 1


def test_a_queue_that_is_not_there_is_final(aws: Services):
    url = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/none"
    result = aws.call(TargetKind.SQS, target_call({"queue_url": url}))
    assert (result.outcome, result.retryable, result.status_code) == (FAILED, False, 400)
    assert "NonExistentQueue" in str(result.error) or "QueueDoesNotExist" in str(result.error)


# --- sns ---


def topic(name: str, **attributes: str) -> tuple[str, Any, str]:
    sns = boto3.client("sns", region_name=REGION)
    arn = sns.create_topic(Name=name, Attributes=attributes)["TopicArn"]
    sqs, url = queue(name, **({"FifoQueue": "true"} if attributes else {}))
    endpoint = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=endpoint, Attributes={"RawMessageDelivery": "true"})
    return arn, sqs, url


def test_a_topic_hands_payload_and_attributes_on(aws: Services):
    arn, sqs, url = topic("jobs")

    assert aws.call(TargetKind.SNS, target_call({"topic_arn": arn})).outcome is OK

    (message,) = received(sqs, url)
    assert message["Body"] == '{"n": 1.50}'
    assert message["MessageAttributes"]["Hourbell-Run"]["StringValue"] == ABOUT["run_id"]
    assert message["MessageAttributes"]["Hourbell-Attempt"]["DataType"] == "Number"


def test_a_fifo_topic_gets_group_and_deduplication_id(aws: Services):
    arn, sqs, url = topic("jobs.fifo", FifoTopic="true")

    assert aws.call(TargetKind.SNS, target_call({"topic_arn": arn, "message_group_id": None})).outcome is OK

    (message,) = received(sqs, url)
    assert message["Attributes"]["MessageGroupId"] == encode("job", JOB)
    assert message["Attributes"]["MessageDeduplicationId"] == encode("run", RUN)


def test_a_topic_that_is_not_there_is_final(aws: Services):
    result = aws.call(TargetKind.SNS, target_call({"topic_arn": f"arn:aws:sns:{REGION}:{ACCOUNT}:none"}))
    assert (result.outcome, result.retryable) == (FAILED, False)
    assert "NotFound" in str(result.error)


# --- eventbridge ---

EVENT = {"bus": "orders", "source": "payments", "detail_type": "settlement due"}


def test_an_event_is_the_payload_with_the_run(aws: Services):
    events = boto3.client("events", region_name=REGION)
    events.create_event_bus(Name="orders")
    sqs, url = queue("events")
    pattern = json.dumps({"source": ["payments"], "detail": {"n": [1.5]}})
    events.put_rule(Name="all", EventBusName="orders", EventPattern=pattern)
    events.put_targets(
        Rule="all", EventBusName="orders", Targets=[{"Id": "q", "Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:events"}]
    )

    assert aws.call(TargetKind.EVENTBRIDGE, target_call(EVENT)).outcome is OK

    (message,) = received(sqs, url)
    event = json.loads(message["Body"])
    assert (event["source"], event["detail-type"]) == ("payments", "settlement due")
    assert event["detail"] == {"n": 1.5, "hourbell": ABOUT}


@pytest.mark.parametrize(
    ("code", "retryable"),
    [("ThrottlingException", True), ("InternalFailure", True), ("MalformedDetail", False), ("AccessDenied", False)],
)
def test_an_event_that_the_bus_did_not_take_is_no_success(aws: Services, code: str, retryable: bool):
    class Refusing:
        def put_events(self, **_: Any) -> dict[str, Any]:
            entry = {"ErrorCode": code, "ErrorMessage": "because"}
            return {"FailedEntryCount": 1, "Entries": [entry], "ResponseMetadata": {"HTTPStatusCode": 200}}

    aws.stub = Refusing()
    result = aws.call(TargetKind.EVENTBRIDGE, target_call(EVENT))
    assert (result.outcome, result.retryable, result.error) == (FAILED, retryable, f"{code}: because")


# --- step functions ---


def state_machine() -> tuple[Any, str]:
    states = boto3.client("stepfunctions", region_name=REGION)
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    role = f"arn:aws:iam::{ACCOUNT}:role/states"
    return states, states.create_state_machine(name="settle", definition=definition, roleArn=role)["stateMachineArn"]


def test_a_run_is_an_execution_of_its_name(aws: Services):
    states, arn = state_machine()

    assert aws.call(TargetKind.STEP_FUNCTIONS, target_call({"state_machine_arn": arn})).outcome is OK

    (execution,) = states.list_executions(stateMachineArn=arn)["executions"]
    assert execution["name"] == encode("run", RUN)
    described = states.describe_execution(executionArn=execution["executionArn"])
    assert json.loads(described["input"]) == {"n": 1.5, "hourbell": ABOUT}


def test_a_run_that_already_has_its_execution_has_succeeded(aws: Services):
    states, arn = state_machine()
    for attempt in (1, 2):  # other attempt, other input: Step Functions refuses the second
        result = aws.call(TargetKind.STEP_FUNCTIONS, target_call({"state_machine_arn": arn}, attempt=attempt))
        assert result.outcome is OK
    assert len(states.list_executions(stateMachineArn=arn)["executions"]) == 1


def test_a_state_machine_that_is_not_there_is_final(aws: Services):
    arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:none"
    result = aws.call(TargetKind.STEP_FUNCTIONS, target_call({"state_machine_arn": arn}))
    assert (result.outcome, result.retryable) == (FAILED, False)


# --- lambda ---


def function() -> str:
    iam = boto3.client("iam")
    role = iam.create_role(RoleName="lambda", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("handler.py", "def handler(event, context): return event")
    made = boto3.client("lambda", region_name=REGION).create_function(
        FunctionName="settle", Runtime="python3.13", Role=role, Handler="handler.handler",
        Code={"ZipFile": archive.getvalue()},
    )  # fmt: skip
    return made["FunctionArn"]


@pytest.mark.parametrize(("invocation", "status"), [("sync", 200), ("async", 202)])
def test_a_function_is_invoked(aws: Services, invocation: str, status: int):
    result = aws.call(TargetKind.LAMBDA, target_call({"arn": function(), "invocation": invocation}))
    assert (result.outcome, result.status_code) == (OK, status)


class FakeStream:
    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)
        self.closed = False
        self.asked = 0

    def read(self, amount: int) -> bytes:
        self.asked += amount
        return self._content.read(amount)

    def close(self) -> None:
        self.closed = True


class FakeLambda:
    """Answers as it is told; keeps what it was invoked with."""

    def __init__(self, content: bytes = b"null", **answer: Any) -> None:
        self.stream = FakeStream(content)
        self._answer = {"StatusCode": 200, "ResponseMetadata": {"HTTPStatusCode": 200}, **answer}
        self.requests: list[dict[str, Any]] = []

    def invoke(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return {**self._answer, "Payload": self.stream}


LAMBDA = {"arn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:settle:live", "invocation": "sync"}


@pytest.mark.parametrize(("invocation", "kind"), [("sync", "RequestResponse"), ("async", "Event")])
def test_a_function_gets_the_payload_with_the_run(aws: Services, invocation: str, kind: str):
    aws.stub = FakeLambda()
    aws.call(TargetKind.LAMBDA, target_call({**LAMBDA, "invocation": invocation}))
    (request,) = aws.stub.requests
    assert (request["FunctionName"], request["InvocationType"]) == (LAMBDA["arn"], kind)
    assert json.loads(request["Payload"]) == {"n": 1.5, "hourbell": ABOUT}


def test_a_functions_error_is_the_attempts(aws: Services):
    error = {"errorType": "ValueError", "errorMessage": "no ledger", "stackTrace": ["x" * 5_000]}
    aws.stub = FakeLambda(json.dumps(error).encode(), FunctionError="Unhandled")
    result = aws.call(TargetKind.LAMBDA, target_call(LAMBDA))
    assert (result.outcome, result.retryable, result.status_code) == (FAILED, True, 200)
    assert result.error == "Unhandled: ValueError: no ledger"


@pytest.mark.parametrize("content", [b"", b"[1]", b"null", b'{"errorType":1', b"\xff\0", b"[" * 60_000])
def test_a_functions_error_may_look_like_anything(aws: Services, content: bytes):
    aws.stub = FakeLambda(content, FunctionError="Handled")
    result = aws.call(TargetKind.LAMBDA, target_call(LAMBDA))
    assert (result.outcome, result.retryable) == (FAILED, True)
    assert "\0" not in str(result.error)
    assert len(str(result.error)) <= 500


def test_a_long_answer_is_read_no_further_than_64_kib(aws: Services):
    aws.stub = FakeLambda(b"x" * 1_000_000)
    assert aws.call(TargetKind.LAMBDA, target_call(LAMBDA)).outcome is OK
    assert aws.stub.stream.asked == 65_536
    assert aws.stub.stream.closed


def test_a_function_is_invoked_once_per_attempt_and_awaited_as_long_as_the_attempt(aws: Services):
    """Botocore repeats a call whose answer takes too long; a function would then run twice at once."""
    aws.stub = FakeLambda()
    for seconds in (0.5, 1, 30, 839.5):
        aws.call(TargetKind.LAMBDA, target_call(LAMBDA, timeout=timedelta(seconds=seconds)))
    assert [service.attempts for service in aws.asked] == [1, 1, 1, 1]
    assert [service.read_seconds for service in aws.asked] == [1, 2, 32, 1024]


# --- what the stage allows ---


def everywhere(name: str) -> list[tuple[TargetKind, dict[str, Any]]]:
    return [
        (TargetKind.LAMBDA, {"arn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}", "invocation": "sync"}),
        (TargetKind.SQS, {"queue_url": f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}"}),
        (TargetKind.SNS, {"topic_arn": f"arn:aws:sns:{REGION}:{ACCOUNT}:{name}"}),
        (TargetKind.EVENTBRIDGE, {"bus": name, "source": "a", "detail_type": "b"}),
        (TargetKind.STEP_FUNCTIONS, {"state_machine_arn": f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{name}"}),
    ]


def test_a_target_that_the_stage_no_longer_allows_is_not_called(aws: Services):
    for name, rules in [("a", replace(RULES, allowed=AllowedTargets())), ("hourbell-test-api", RULES)]:
        aws.caller = AwsCaller(aws.client, rules)
        for kind, config in everywhere(name):
            with pytest.raises(FieldError):
                aws.call(kind, target_call(config))
    assert aws.asked == []


def test_access_denied_is_final_for_every_kind(aws: Services):
    denied = {"Error": {"Code": "AccessDeniedException", "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": 403}}

    class Exceptions:
        ExecutionAlreadyExists = KeyError

    class Denying:
        exceptions = Exceptions

        def __getattr__(self, operation: str) -> Any:
            def refuse(**_: Any) -> Any:
                raise ClientError(denied, operation)  # type: ignore[arg-type]

            return refuse

    aws.stub = Denying()
    for kind, config in everywhere("a"):
        result = aws.call(kind, target_call(config))
        assert (result.outcome, result.retryable, result.status_code) == (FAILED, False, 403), kind
