"""S3 in process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from hourbell.cold.objects import ColdObjects
from moto import mock_aws

BUCKET = "cold-test"


@contextmanager
def versioned_bucket() -> Iterator[ColdObjects]:
    """The cold tier's bucket, empty."""
    with mock_aws():
        client = boto3.client("s3", region_name="eu-central-1", aws_access_key_id="test", aws_secret_access_key="test")
        client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        yield ColdObjects(bucket=BUCKET, client=lambda: client)
