"""A run that dies on the deployed cloud is told on its event bus, where a rule of the user's finds it."""

from __future__ import annotations

import json

import boto3
import pytest
from botocore.config import Config
from hourbell.client import Client
from hourbell.local.aws import invoke, lambda_client
from hourbell.local.emulator import ACCOUNT, REGION
from hourbell.local.state import Cloud

from tests.end_to_end.bells import Hang, soon

pytestmark = pytest.mark.end_to_end


def test_a_dead_run_is_told_on_the_bus(client: Client, hang: Hang, local_cloud: Cloud):
    session = boto3.Session(aws_access_key_id=ACCOUNT, aws_secret_access_key="local", region_name=REGION)
    config = Config(proxies={})
    events = session.client("events", endpoint_url=local_cloud.endpoint, config=config)
    sqs = session.client("sqs", endpoint_url=local_cloud.endpoint, config=config)
    url = sqs.create_queue(QueueName="told")["QueueUrl"]
    rule = {"Name": "told", "EventBusName": local_cloud.outputs["EventBusName"]}
    events.put_rule(**rule, EventPattern=json.dumps({"source": ["hourbell"]}))
    queue = {"Id": "queue", "Arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:told"}
    events.put_targets(Rule=rule["Name"], EventBusName=rule["EventBusName"], Targets=[queue])
    bell = hang(soon(2), answer=lambda _: 410)
    run = bell.run_in("dead", seconds=30)

    invoke(lambda_client(local_cloud.endpoint), "reaper", {})

    assert client.get_job(bell.job["id"])["state"] == "completed"  # a one-off has nothing left to pause
    told: set[str] = set()
    for _ in range(6):  # runs that died before this one are told of, too
        messages = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=5, MaxNumberOfMessages=10).get("Messages", [])
        events_told = [json.loads(message["Body"]) for message in messages]
        told |= {event["detail"]["run_id"] for event in events_told if event["detail-type"] == "run.dead"}
        if run["id"] in told:
            break
    assert run["id"] in told
