"""A JSON document in the user's own editor."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click
import typer

from hourbell.client import ClientError


def edit_json(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The document as its user leaves it; None when it was not saved. What is not JSON can be edited again.

    Raises:
        ClientError: no editor can be started.
    """
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    while True:
        try:
            edited = click.edit(text, extension=".json")
        except click.ClickException as error:
            raise ClientError(f"{error.format_message()} (VISUAL or EDITOR says which)") from error
        if edited is None:
            return None
        try:
            value = json.loads(edited)
        except ValueError as error:
            typer.echo(f"Not JSON: {error}", err=True)
        else:
            if isinstance(value, dict):
                return value
            typer.echo("Not a JSON object.", err=True)
        typer.confirm("Edit it again?", default=True, abort=True, err=True)
        text = edited
