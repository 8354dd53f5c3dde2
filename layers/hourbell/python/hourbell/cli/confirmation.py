"""Asking before something that cannot be taken back."""

from __future__ import annotations

from typing import Annotated

import typer

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def confirm(question: str, *, yes: bool) -> None:
    """Go on when the user says so, or has said so before; end with status 1 otherwise."""
    if not yes:
        typer.confirm(question, abort=True, err=True)
