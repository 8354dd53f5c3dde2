from __future__ import annotations

from collections.abc import Iterator

import boto3
import psycopg
import pytest
from hourbell.cold.objects import ColdObjects
from hourbell.store.connection import Database
from moto import mock_aws

from tests.integration.cold.world import World
from tests.seeds import RecordingLanes, Seeder

BUCKET = "cold-test"


@pytest.fixture
def database(conninfo: str) -> Iterator[Database]:
    opened = Database(conninfo)
    yield opened
    opened.close()


@pytest.fixture
def seed(conninfo: str) -> Iterator[Seeder]:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield Seeder(connection)


@pytest.fixture
def lanes() -> RecordingLanes:
    return RecordingLanes()


@pytest.fixture
def objects() -> Iterator[ColdObjects]:
    """A versioned bucket of its own."""
    with mock_aws():
        client = boto3.client("s3", region_name="eu-central-1", aws_access_key_id="test", aws_secret_access_key="test")
        client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield ColdObjects(bucket=BUCKET, client=lambda: client)


@pytest.fixture
def world(database: Database, objects: ColdObjects, seed: Seeder) -> World:
    return World(database, objects, seed)
