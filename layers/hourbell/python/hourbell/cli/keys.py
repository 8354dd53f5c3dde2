"""``hourbell keys``: the tenant's API keys; and a tenant's first, which no key can ask for while there is none."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hourbell.cli.confirmation import Yes, confirm
from hourbell.cli.connection import connect
from hourbell.cli.output import AsJson, console, print_json, print_table
from hourbell.client import ClientError

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(no_args_is_help=True, help="API keys.")


def _key_id(given: str) -> str:
    if not given.startswith("key_"):
        raise typer.BadParameter("it takes a key's id (key_…), not its name; hourbell keys list shows both")
    return given


KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="A key's id (key_…).", callback=_key_id)]


@app.command()
def create(
    *,
    name: Annotated[str, typer.Option(help="What the key is for.")] = "made by hourbell keys create",
    scope: Annotated[list[str] | None, typer.Option(help="May be repeated; default: all but operator.")] = None,
    expires: Annotated[str | None, typer.Option(help="When it ends, by itself: 2027-12-31T00:00:00Z.")] = None,
    tenant: Annotated[
        str | None,
        typer.Option(help="Make the key in the database, for the tenant of this name; it is made when there is none."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            envvar="HOURBELL_DATABASE",
            help="With --tenant: libpq connection string of the owner (hourbell_migrator); PGPASSWORD has the password "
            "or IAM token. Default: the local cloud's.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key. Its secret is shown once; only its hash is kept."""
    from hourbell.services.tenants import OPERATOR, SCOPES

    scopes = tuple(scope or SCOPES)
    known = (*SCOPES, OPERATOR)
    unknown = set(scopes) - set(known)
    if unknown:
        raise typer.BadParameter(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if tenant is not None:
        if expires is not None:
            raise typer.BadParameter("--expires and --tenant do not go together")
        key_id, secret = _create_in_database(database or _local_database(), tenant, name, scopes)
        if as_json:
            return print_json({"id": key_id, "tenant": tenant, "name": name, "secret": secret})
        return _print_secret(key_id, name, secret)
    with connect() as client:
        key = client.create_key(name, scopes, expires_at=expires)
    return print_json(key) if as_json else _print_secret(key["id"], key["name"], key["secret"])


@app.command("list")
def list_keys(*, as_json: AsJson = False) -> None:
    """List keys, newest first; revoked ones too."""
    with connect() as client:
        keys = list(client.iter_keys())
    if as_json:
        return print_json({"items": keys, "next_cursor": None})
    rows = ((key["id"], key["name"], " ".join(key["scopes"]), _standing(key), key["last_used_at"]) for key in keys)
    return print_table(("ID", "NAME", "SCOPES", "ENDS", "LAST USED"), rows, empty="No keys.")


@app.command()
def rotate(
    key: KeyArgument,
    *,
    grace: Annotated[str, typer.Option(help="How long the old secret still opens: 0s, 1h, P1D.")] = "P1D",
    force: Annotated[bool, typer.Option("--force", help="Also end a secret still older that opens yet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give a key a new secret, shown once; the old one opens for a while longer."""
    with connect() as client:
        rotated = client.rotate_key(key, grace=grace, force=force)
    return print_json(rotated) if as_json else typer.echo(rotated["secret"])


@app.command()
def revoke(key: KeyArgument, *, yes: Yes = False) -> None:
    """Close a key for good, within a minute."""
    with connect() as client:
        found = client.get_key(key)
        confirm(f"Revoke {found['name']} ({key})? Whoever uses it is refused from then on.", yes=yes)
        client.revoke_key(key)
    typer.echo(f"Revoked {key}.")


def _print_secret(key_id: str, name: str, secret: str | None) -> None:
    """The secret alone, for pipes and files; beside it, whoever watches is told the key's id."""
    typer.echo(secret)
    watched = console(stderr=True)
    if watched.is_terminal:
        watched.print(
            f"Its id: {key_id} ({name}), for hourbell keys rotate and revoke.",
            style="dim",
            markup=False,
            soft_wrap=True,
        )


def _standing(key: Any) -> str | None:
    if key["revoked_at"] is not None:
        return f"revoked {key['revoked_at']}"
    ends: str | None = key["expires_at"]
    return ends


def _create_in_database(conninfo: str, tenant: str, name: str, scopes: Sequence[str]) -> tuple[str, str]:
    import psycopg

    from hourbell.domain.ids import encode
    from hourbell.services.tenants import create_api_key, create_tenant
    from hourbell.store.connection import Database

    now = datetime.now(UTC)
    store = Database(conninfo)
    try:
        tenant_id = create_tenant(store, tenant, now=now)
        key = create_api_key(store, tenant_id, name=name, now=now, scopes=scopes)
        return encode("key", key.key_id), key.secret
    except psycopg.Error as error:
        raise ClientError(f"The database did not do it: {str(error).strip()}") from error
    finally:
        store.close()


def _local_database() -> str:
    from hourbell.local.project import Project, StateDirectory
    from hourbell.local.state import Cloud, CloudRecord

    record = CloudRecord.read(StateDirectory.of(Project.find())) or CloudRecord()
    return Cloud.of(record if record.is_up else CloudRecord()).database
