"""``hourbell cold``: for operators, with access to the database and the bucket; not through the API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from hourbell.cli.output import AsJson, console, count, print_json, print_table
from hourbell.client import ClientError
from hourbell.cold.errors import ColdUnavailableError
from hourbell.cold.objects import ColdObjects

if TYPE_CHECKING:
    from rich.status import Status

    from hourbell.services.verify_cold import FoundFlaw, Progress
    from hourbell.store.connection import Database

app = typer.Typer(no_args_is_help=True, help="The cold tier's segments, for operators.")

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="HOURBELL_DATABASE",
        help="libpq connection string of the owner (hourbell_migrator); PGPASSWORD has the password or IAM token. "
        "Default: the local cloud's.",
    ),
]
BucketOption = Annotated[
    str | None,
    typer.Option(
        "--bucket",
        envvar="HOURBELL_COLD_BUCKET",
        help="The stack's output ColdBucketName, read with your AWS credentials. Default: the local cloud's.",
    ),
]


@app.command()
def verify(*, database: DatabaseOption = None, bucket: BucketOption = None, as_json: AsJson = False) -> None:
    """Read every segment, and name each that is not what the catalogue says; exit status 1 if a job may not ring."""
    from hourbell.services.verify_cold import verify_cold

    with _opened(database, bucket) as (store, objects), _counted() as progress:
        flaws = list(verify_cold(store, objects, now=datetime.now(UTC), progress=progress))
    if as_json:
        print_json({"flaws": [_shown(flaw) for flaw in flaws]})
    else:
        rows = ((flaw.kind, flaw.key, flaw.jobs, flaw.detail) for flaw in flaws)
        print_table(("FLAW", "OBJECT", "JOBS", "WHAT"), rows, empty="Every segment is whole.")
    if any(flaw.harms for flaw in flaws):
        raise typer.Exit(1)


@app.command()
def rebuild(
    *,
    database: DatabaseOption = None,
    bucket: BucketOption = None,
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without, only say what would be done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Repair segments from S3's versions, and the catalogue from segments; exit status 1 if a flaw is left."""
    from hourbell.services.verify_cold import plan_repairs

    done = []
    with _opened(database, bucket) as (store, objects), _counted() as progress:
        for repair in plan_repairs(store, objects, now=datetime.now(UTC), progress=progress):
            if apply and repair.act is not None:
                repair.act()
            done.append(repair)
    if as_json:
        print_json({
            "applied": apply,
            "repairs": [{**_shown(one.flaw), "action": one.action, "possible": one.act is not None} for one in done],
        })  # fmt: skip
    else:
        rows = ((one.flaw.kind, one.flaw.key, one.flaw.jobs, one.action) for one in done)
        print_table(("FLAW", "OBJECT", "JOBS", "DONE" if apply else "WOULD"), rows, empty="Nothing to repair.")
        if done and not apply:
            typer.echo(f"{count(len(done), 'repair')}. Do it: hourbell cold rebuild --apply")
    if any(one.flaw.harms and not (apply and one.act is not None and one.heals) for one in done):
        raise typer.Exit(1)


def _shown(flaw: FoundFlaw) -> dict[str, object]:
    return {"flaw": flaw.kind, "object": flaw.key, "jobs": flaw.jobs, "detail": flaw.detail}


@contextmanager
def _opened(database: str | None, bucket: str | None) -> Iterator[tuple[Database, ColdObjects]]:
    import psycopg

    from hourbell.store.connection import Database

    if (database is None) != (bucket is None):
        raise typer.BadParameter("--database and --bucket go together; without both, it is the local cloud")
    conninfo, objects = _local() if database is None or bucket is None else (database, _in_aws(bucket))
    store = Database(conninfo)
    try:
        yield store, objects
    except ColdUnavailableError as error:
        raise ClientError(f"S3 did not answer: {error}") from error
    except psycopg.Error as error:
        raise ClientError(f"The database did not do it: {str(error).strip()}") from error
    finally:
        store.close()


def _in_aws(bucket: str) -> ColdObjects:
    import boto3
    from botocore.exceptions import BotoCoreError

    try:
        client = boto3.client("s3")
    except BotoCoreError as error:
        raise ClientError(f"S3 cannot be asked: {error} (AWS_PROFILE and AWS_REGION say where)") from error
    return ColdObjects(bucket=bucket, client=lambda: client)


def _local() -> tuple[str, ColdObjects]:
    from hourbell.local.aws import s3_client
    from hourbell.local.project import Project, StateDirectory
    from hourbell.local.state import Cloud, CloudRecord

    record = CloudRecord.read(StateDirectory.of(Project.find())) or CloudRecord()
    cloud = Cloud.of(record if record.is_up else CloudRecord())
    client = s3_client(cloud.endpoint)
    return cloud.database, ColdObjects(bucket=cloud.outputs["ColdBucketName"], client=lambda: client)


@contextmanager
def _counted() -> Iterator[Progress]:
    """Shows on a terminal how far it came."""
    with console(stderr=True).status("Reading segments") as status:

        def progress(done: int, total: int) -> None:
            _show(status, done, total)

        yield progress


def _show(status: Status, done: int, total: int) -> None:
    status.update(f"Reading segments: {done:,} of {total:,}")
