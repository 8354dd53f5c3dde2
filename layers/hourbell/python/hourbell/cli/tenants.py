"""``hourbell tenants``: for operators, whose key has the scope ``operator``."""

from __future__ import annotations

from typing import Annotated

import typer

from hourbell.cli.connection import connect
from hourbell.cli.output import AsJson, print_fields, print_json, print_table
from hourbell.client import Client, ClientError, Tenant

app = typer.Typer(no_args_is_help=True, help="Tenants and their quotas, for operators.")

UNLIMITED = "none"

MaxJobs = Annotated[str | None, typer.Option(help="Active and paused jobs; 'none': no limit.")]
MaxRuns = Annotated[str | None, typer.Option(help="Occurrences that start within one minute; 'none': no limit.")]
MaxRequests = Annotated[str | None, typer.Option(help="Calls of the API a second; 'none': no limit.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="The tenant's name, unique.")],
    *,
    max_jobs: MaxJobs = None,
    max_runs_per_minute: MaxRuns = None,
    max_requests_per_second: MaxRequests = None,
    as_json: AsJson = False,
) -> None:
    """Make a tenant with its first key. The key's secret is shown once; only its hash is kept."""
    quotas = _quotas(max_jobs, max_runs_per_minute, max_requests_per_second)
    with connect() as client:
        made = client.create_tenant(name, quotas=quotas or None)
    return print_json(made) if as_json else typer.echo(made["key"]["secret"])


@app.command("list")
def list_tenants(
    *,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    as_json: AsJson = False,
) -> None:
    """List tenants, newest first."""
    with connect() as client:
        page = client.list_tenants(limit=limit, cursor=cursor)
    if as_json:
        return print_json(page)
    rows = ((one["id"], one["name"], one["jobs"], *_shown(one).values()) for one in page["items"])
    columns = ("ID", "NAME", "JOBS", "MAX JOBS", "RUNS A MINUTE", "REQUESTS A SECOND")
    print_table(columns, rows, empty="No tenants.")
    if page["next_cursor"]:
        typer.echo(f"More: --cursor {page['next_cursor']}")
    return None


@app.command()
def quota(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="A tenant's id (ten_…) or its name.")],
    *,
    max_jobs: MaxJobs = None,
    max_runs_per_minute: MaxRuns = None,
    max_requests_per_second: MaxRequests = None,
    as_json: AsJson = False,
) -> None:
    """Set the quotas that are named and show them all."""
    quotas = _quotas(max_jobs, max_runs_per_minute, max_requests_per_second)
    with connect() as client:
        found = _find(client, tenant)
        if quotas:
            found = client.set_quotas(found["id"], quotas)
    if as_json:
        return print_json(found)
    return print_fields({"tenant": found["name"], "id": found["id"], "jobs": found["jobs"], **_shown(found)})


def _find(client: Client, tenant: str) -> Tenant:
    if tenant.startswith("ten_"):
        return client.get_tenant(tenant)
    found = client.list_tenants(name=tenant)["items"]
    if not found:
        raise ClientError(f"No tenant is called {tenant}.")
    return found[0]


def _quotas(max_jobs: str | None, max_runs: str | None, max_requests: str | None) -> dict[str, int | None]:
    named = {"max_jobs": max_jobs, "max_runs_per_minute": max_runs, "max_requests_per_second": max_requests}
    return {name: _limit(name, text) for name, text in named.items() if text is not None}


def _limit(name: str, text: str) -> int | None:
    if text == UNLIMITED:
        return None
    if not (text.isascii() and text.isdigit()):
        raise typer.BadParameter(f"--{name.replace('_', '-')}: a whole number, or '{UNLIMITED}'")
    return int(text)


def _shown(tenant: Tenant) -> dict[str, str]:
    quotas = tenant["quotas"]
    named = {
        "max jobs": quotas["max_jobs"],
        "max runs per minute": quotas["max_runs_per_minute"],
        "max requests per second": quotas["max_requests_per_second"],
    }
    return {name: UNLIMITED if limit is None else f"{limit:,}" for name, limit in named.items()}
