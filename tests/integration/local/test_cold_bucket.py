"""What the cold tier has in S3 lasts as long as the database does."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hourbell.local import aws, cloud, cold
from hourbell.local.project import Project, StateDirectory

from cdk.settings import LOCAL
from tests.integration.local.test_down import start_emulator

KEY = "cold/2031-05-09/12/a-b.ndjson.gz"


@pytest.fixture
def state() -> Iterator[StateDirectory]:
    found = StateDirectory(path=Path(tempfile.mkdtemp(prefix="hourbell-cold-")))
    yield found
    cloud.down(Project.find(), found, purge=True)
    assert not found.objects.exists()
    shutil.rmtree(found.path, ignore_errors=True)


def test_segments_survive_the_emulator_in_each_of_their_versions_and_nothing_else_does(state: StateDirectory):
    project = Project.find()
    machine = start_emulator(project, state)
    cold.ensure_bucket(machine)
    client = aws.s3_client(machine.endpoint)
    versions = [client.put_object(Bucket=cold.BUCKET, Key=KEY, Body=body)["VersionId"] for body in (b"old", b"new")]
    client.create_bucket(Bucket="a-stacks-own")
    client.put_object(Bucket="a-stacks-own", Key="asset", Body=b"x")

    cloud.down(project, state)
    cold.forget_all_else(state.objects)
    machine = start_emulator(project, state)
    cold.ensure_bucket(machine)

    client = aws.s3_client(machine.endpoint)
    assert [bucket["Name"] for bucket in client.list_buckets()["Buckets"]] == [cold.BUCKET]
    read = [client.get_object(Bucket=cold.BUCKET, Key=KEY, VersionId=one)["Body"].read() for one in versions]
    assert read == [b"old", b"new"]
    assert client.get_object(Bucket=cold.BUCKET, Key=KEY)["Body"].read() == b"new"
    assert client.put_object(Bucket=cold.BUCKET, Key=KEY, Body=b"newer")["VersionId"] not in (*versions, "null")


def test_the_stage_and_the_laptop_mean_the_same_bucket():
    assert LOCAL.own_cold_bucket == cold.BUCKET
