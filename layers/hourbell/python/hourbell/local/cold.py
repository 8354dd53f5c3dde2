"""The cold tier's bucket on the emulator: kept on disk beside the database, which names its objects and their versions.

Everything else in the emulator's S3 belongs to stacks, which it forgets when it ends; a bucket that outlived its stack
would be in the way of the next deployment.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from hourbell.local import aws
from hourbell.local.emulator import ACCOUNT, Emulator

# cdk.settings.LOCAL names it too.
BUCKET = "hourbell-local-cold"

# The emulator's layout: <account>/<bucket>/<key>, and the same below this folder for versions that are not the latest.
_VERSIONS = ".versions"


def forget_all_else(objects: Path) -> None:
    """Remove every bucket but the cold tier's. No emulator may be running on these files."""
    for account in (objects / ACCOUNT, objects / _VERSIONS / ACCOUNT):
        for bucket in account.iterdir() if account.is_dir() else ():
            if bucket.name != BUCKET:
                shutil.rmtree(bucket)


def ensure_bucket(machine: Emulator) -> None:
    """Make the bucket, or open again the one that is there."""
    client = aws.s3_client(machine.endpoint)
    with contextlib.suppress(client.exceptions.BucketAlreadyOwnedByYou):
        client.create_bucket(Bucket=BUCKET)
    client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
