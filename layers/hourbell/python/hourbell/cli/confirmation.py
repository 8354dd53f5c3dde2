"""Asking before something that cannot be taken back, where more than one thing is meant or others would be cut off.

One job, or one target that no job uses, is deleted as it is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from hourbell.cli.output import count

SHOWN = 5

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def confirm(question: str, *, yes: bool) -> None:
    """Go on when the user says so, or has said so before; end with status 1 otherwise."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def confirm_each(action: str, kind: str, names: Sequence[str], *, yes: bool) -> None:
    """As ``confirm``, with the number and the first few of the things that are meant; of one, go on."""
    if len(names) > 1:
        shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
        confirm(f"{action} {count(len(names), kind)}: {shown}?", yes=yes)
