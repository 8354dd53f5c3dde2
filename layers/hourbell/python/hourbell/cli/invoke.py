"""``hourbell invoke``: one deployed function, one event, one reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hourbell.cli.output import print_json
from hourbell.local.project import Project, StateDirectory

# The folder of a function is not its name where it is deployed more than once.
_DEPLOYED_AS = {"worker": "worker-shared"}


def invoke(
    function: Annotated[
        str,
        typer.Argument(
            help="api, authorizer, scanner, reaper, freezer, loader, worker, migrator, partitioner, replanner."
        ),
    ],
    event: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The event, as JSON: events/scanner.json")],
) -> None:
    """Invoke a function of the local cloud and print what it answers."""
    from hourbell.local import aws
    from hourbell.local.state import Cloud, CloudRecord

    try:
        content = json.loads(event.read_text(encoding="utf-8"))
    except ValueError as error:
        raise typer.BadParameter(f"{event} is not JSON: {error}") from error
    record = CloudRecord.read(StateDirectory.of(Project.find())) or CloudRecord()
    cloud = Cloud.of(record if record.is_up else CloudRecord())
    client = aws.lambda_client(cloud.endpoint)
    print_json(aws.invoke(client, _DEPLOYED_AS.get(function, function), content))
