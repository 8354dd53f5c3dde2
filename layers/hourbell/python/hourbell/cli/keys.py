"""``hourbell keys``: a tenant's first key, which no API call can make while there is no key to make it with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from hourbell.cli.output import AsJson, print_json
from hourbell.client import ClientError

app = typer.Typer(no_args_is_help=True, help="API keys.")


@app.command()
def create(
    *,
    tenant: Annotated[str, typer.Option(help="The tenant's name; made when there is none.")],
    name: Annotated[str, typer.Option(help="What the key is for.")] = "first key",
    scope: Annotated[list[str] | None, typer.Option(help="May be repeated; default: all.")] = None,
    database: Annotated[
        str | None,
        typer.Option(
            envvar="HOURBELL_DATABASE",
            help="libpq connection string of the owner (hourbell_migrator); PGPASSWORD has the password or IAM token. "
            "Default: the local cloud's.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key straight in the database. The secret is shown once; only its hash is kept."""
    import psycopg

    from hourbell.services.tenants import SCOPES, create_api_key, create_tenant
    from hourbell.store.connection import Database

    unknown = set(scope or ()) - set(SCOPES)
    if unknown:
        raise typer.BadParameter(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(SCOPES)}")
    now = datetime.now(UTC)
    store = Database(database or _local_database())
    try:
        key = create_api_key(
            store, create_tenant(store, tenant, now=now), name=name, now=now, scopes=tuple(scope or SCOPES)
        )
    except psycopg.Error as error:
        raise ClientError(f"The database did not do it: {str(error).strip()}") from error
    finally:
        store.close()
    if as_json:
        return print_json({"tenant": tenant, "name": name, "secret": key.secret})
    typer.echo(key.secret)
    return None


def _local_database() -> str:
    from hourbell.local.project import Project, StateDirectory
    from hourbell.local.state import Cloud, CloudRecord

    record = CloudRecord.read(StateDirectory.of(Project.find())) or CloudRecord()
    return Cloud.of(record if record.is_up else CloudRecord()).database
