"""Jobs whose targets are in AWS: on the emulator, from the API to the function, queue or execution."""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from hourbell.client import ApiError, Client, Run
from hourbell.domain.instants import format_instant
from hourbell.local.emulator import ACCOUNT, REGION
from hourbell.local.state import Cloud

from tests.end_to_end.bells import soon, until
from tests.end_to_end.sink import Sink

pytestmark = pytest.mark.end_to_end

PAYLOAD = {"ledger": 7, "text": "ü"}
ROLE = f"arn:aws:iam::{ACCOUNT}:role/target"
RETRY = {"max_attempts": 2, "backoff": "fixed", "initial": "PT1S", "maximum": "PT1S"}


class Aws:
    """The emulator's services."""

    def __init__(self, cloud: Cloud) -> None:
        self._endpoint = cloud.endpoint
        self._session = boto3.Session(aws_access_key_id=ACCOUNT, aws_secret_access_key="local", region_name=REGION)
        self.sqs = self.client("sqs")

    def client(self, service: str) -> Any:
        return self._session.client(service, endpoint_url=self._endpoint, config=Config(proxies={}))

    def queue(self, name: str, **attributes: str) -> str:
        return self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]

    def messages(self, url: str, *, seconds: int = 15) -> list[dict[str, Any]]:
        """The next messages of a queue, awaited by SQS itself."""
        reply = self.sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            WaitTimeSeconds=seconds,
            MessageAttributeNames=["All"],
            AttributeNames=["All"],
        )
        return reply.get("Messages", [])

    def function(self, name: str, code: str) -> str:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as writer:
            writer.writestr("handler.py", code)
        made = self.client("lambda").create_function(
            FunctionName=name, Runtime="python3.13", Role=ROLE, Handler="handler.handler",
            Code={"ZipFile": archive.getvalue()},
        )  # fmt: skip
        return made["FunctionArn"]


@pytest.fixture(scope="module")
def aws(local_cloud: Cloud) -> Aws:
    return Aws(local_cloud)


Ring = Callable[..., Run]


@pytest.fixture
def ring(client: Client) -> Iterator[Ring]:
    """A job that rings once, soon, on a target of its own: answers its run when that has ended."""

    def ring(name: str, **kind: Any) -> Run:
        client.create_target(name, **kind)
        definition = {"schedule": {"at": format_instant(soon(2))}, "target": name, "payload": PAYLOAD, "retry": RETRY}
        job = client.create_job(definition)

        def runs() -> list[Run]:
            return client.job_runs(job["id"])["items"]

        assert until(lambda: any(run["state"] in ("succeeded", "dead") for run in runs()), seconds=30), runs()
        (run,) = runs()
        return client.get_run(run["id"])

    return ring


def told(attributes: dict[str, Any]) -> dict[str, str]:
    return {name: value.get("StringValue", value.get("Value")) for name, value in attributes.items()}


def assert_about(about: dict[str, Any], run: Run) -> None:
    assert (about["run_id"], about["job_id"], about["attempt"]) == (run["id"], run["job_id"], 1)
    assert about["scheduled_for"] == run["scheduled_for"]
    assert about["lease_token"]


def test_a_queue(aws: Aws, ring: Ring):
    url = aws.queue("kinds-standard")
    run = ring("queue", sqs={"queue_url": url})
    assert (run["state"], run["attempts"][0]["status_code"]) == ("succeeded", 200)
    (message,) = aws.messages(url)
    assert json.loads(message["Body"]) == PAYLOAD
    attributes = told(message["MessageAttributes"])
    assert (attributes["Hourbell-Run"], attributes["Hourbell-Job"]) == (run["id"], run["job_id"])
    assert attributes["Hourbell-Attempt"] == "1"


def test_a_fifo_queue(aws: Aws, ring: Ring):
    url = aws.queue("kinds.fifo", FifoQueue="true")
    run = ring("fifo", sqs={"queue_url": url})
    (message,) = aws.messages(url)
    assert message["Attributes"]["MessageGroupId"] == run["job_id"]
    assert message["Attributes"]["MessageDeduplicationId"] == run["id"]


def test_a_topic_and_its_queue(aws: Aws, ring: Ring):
    url = aws.queue("kinds-topic")
    sns = aws.client("sns")
    arn = sns.create_topic(Name="kinds-topic")["TopicArn"]
    queue = f"arn:aws:sqs:{REGION}:{ACCOUNT}:kinds-topic"
    sns.subscribe(TopicArn=arn, Protocol="sqs", Endpoint=queue, Attributes={"RawMessageDelivery": "true"})
    run = ring("topic", sns={"topic_arn": arn})
    assert run["state"] == "succeeded"
    (message,) = aws.messages(url)
    assert json.loads(message["Body"]) == PAYLOAD
    assert told(message["MessageAttributes"])["Hourbell-Run"] == run["id"]


def test_an_event_bus_and_its_queue(aws: Aws, ring: Ring):
    url = aws.queue("kinds-events")
    events = aws.client("events")
    events.create_event_bus(Name="kinds")
    events.put_rule(Name="kinds", EventBusName="kinds", EventPattern=json.dumps({"source": ["kinds"]}))
    queue = {"Id": "queue", "Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:kinds-events"}
    events.put_targets(Rule="kinds", EventBusName="kinds", Targets=[queue])
    run = ring("bus", eventbridge={"bus": "kinds", "source": "kinds", "detail_type": "due"})
    assert run["state"] == "succeeded"
    (message,) = aws.messages(url)
    event = json.loads(message["Body"])
    assert (event["source"], event["detail-type"]) == ("kinds", "due")
    about = event["detail"].pop("hourbell")
    assert event["detail"] == PAYLOAD
    assert_about(about, run)


def test_a_state_machine(aws: Aws, ring: Ring):
    states = aws.client("stepfunctions")
    definition = json.dumps({"StartAt": "Done", "States": {"Done": {"Type": "Pass", "End": True}}})
    arn = states.create_state_machine(name="kinds", definition=definition, roleArn=ROLE)["stateMachineArn"]
    run = ring("machine", step_functions={"state_machine_arn": arn})
    assert run["state"] == "succeeded"
    (execution,) = states.list_executions(stateMachineArn=arn)["executions"]
    assert execution["name"] == run["id"]
    given = json.loads(states.describe_execution(executionArn=execution["executionArn"])["input"])
    assert_about(given.pop("hourbell"), run)
    assert given == PAYLOAD


TELLS = """
import json, urllib.request

def handler(event, context):
    body = json.dumps(event).encode()
    headers = {{"Idempotency-Key": event["hourbell"]["run_id"]}}
    urllib.request.urlopen(urllib.request.Request({url!r}, body, headers), timeout=5).read()
    return {{"done": True}}
"""
FAILS = """
def handler(event, context):
    raise ValueError(f"no ledger {event['ledger']}")
"""


@pytest.mark.parametrize(("invocation", "status"), [("sync", 200), ("async", 202)])
def test_a_function(aws: Aws, ring: Ring, sink: Sink, invocation: str, status: int):
    place = sink.place(f"function-{invocation}", lambda _: 200, closed=False)
    arn = aws.function(f"kinds-{invocation}", TELLS.format(url=place.url))
    run = ring(f"function-{invocation}", **{"lambda": {"arn": arn, "invocation": invocation}})
    assert (run["state"], run["attempts"][0]["status_code"]) == ("succeeded", status)
    (call,) = place.wait(1, seconds=10)
    given = call.payload
    assert_about(given.pop("hourbell"), run)
    assert given == PAYLOAD


def test_a_function_that_fails_is_invoked_again_and_its_error_is_on_record(aws: Aws, ring: Ring):
    arn = aws.function("kinds-fails", FAILS)
    run = ring("fails", **{"lambda": {"arn": arn}})
    assert (run["state"], run["reason"], run["attempt"]) == ("dead", "attempts_exhausted", 2)
    assert {attempt["outcome"] for attempt in run["attempts"]} == {"failed"}
    assert "no ledger 7" in str(run["attempts"][0]["error"])


def test_a_function_that_is_gone_is_not_tried_again(aws: Aws, ring: Ring):
    run = ring("gone", **{"lambda": {"arn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:kinds-gone"}})
    assert (run["state"], run["reason"], run["attempt"]) == ("dead", "refused_by_target", 1)
    assert "ResourceNotFoundException" in str(run["attempts"][0]["error"])


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ({"lambda": {"arn": f"arn:aws:lambda:{REGION}:999999999999:function:a"}}, "lambda.arn"),
        ({"lambda": {"arn": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:hourbell-local-migrator"}}, "lambda.arn"),
        ({"sqs": {"queue_url": f"https://sqs.eu-west-1.amazonaws.com/{ACCOUNT}/a"}}, "sqs.queue_url"),
        ({"http": {"url": "http://127.0.0.1:9/", "secret": "hourbell/local/targets/other/key"}}, "http.secret"),
    ],
)
def test_what_the_stage_does_not_allow_is_refused(client: Client, kind: dict[str, Any], field: str):
    with pytest.raises(ApiError) as refused:
        client.create_target("refused", **kind)
    assert refused.value.status == 400
    assert field in str(refused.value)


def test_a_tenants_own_secret_signs(aws: Aws, client: Client, sink: Sink, ring: Ring):
    with pytest.raises(ApiError) as refused:
        client.create_target("signed", http={"url": "http://127.0.0.1:9/", "secret": "mine"})
    prefix = str(refused.value).rsplit("begins with ", 1)[1].split()[0]
    aws.client("secretsmanager").create_secret(Name=prefix + "billing", SecretString="a key of our own")
    place = sink.place("signed", lambda _: 200, closed=False)
    assert ring("signed", http={"url": place.url, "secret": prefix + "billing"})["state"] == "succeeded"
    (call,) = place.wait(1, seconds=5)

    signed = f"{call.headers['webhook-id']}.{call.headers['webhook-timestamp']}.".encode() + call.body
    expected = base64.b64encode(hmac.digest(b"a key of our own", signed, hashlib.sha256)).decode()
    assert call.headers["webhook-signature"] == f"v1,{expected}"
