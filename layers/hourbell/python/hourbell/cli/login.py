"""``hourbell login`` and ``logout``: which Hourbell commands talk to, kept for their user alone."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import click
import typer

from hourbell.client import Client, ClientError


class Login(NamedTuple):
    """What was stored."""

    url: str
    api_key: str


def login(
    *,
    url: Annotated[str, typer.Option(prompt="URL", help="The API's address, without /v1.")],
    api_key: Annotated[
        str | None, typer.Option(help="hb_…; asked for, or read from a pipe, when it is left out.")
    ] = None,
) -> None:
    """Store the URL and API key that commands use where the environment names none; they are tried first."""
    stored = Login(url.strip().rstrip("/"), (api_key or _read_key()).strip())
    if not stored.api_key:
        raise ClientError("There is no API key: neither --api-key nor a line of standard input.")
    with Client(stored.url, stored.api_key) as client:
        client.list_jobs(limit=1)
    path = login_file()
    _write(path, stored)
    typer.echo(f"Stored in {path}, which only you can read.")


def logout() -> None:
    """Forget what login stored."""
    path = login_file()
    is_there = path.exists()
    path.unlink(missing_ok=True)
    typer.echo("Logged out." if is_there else "Nothing was stored.")


def _read_key() -> str:
    # Asking without an echo takes a terminal; a pipe shows nothing anyway.
    if sys.stdin.isatty():
        return str(typer.prompt("API key", hide_input=True))
    return sys.stdin.readline()


def login_file() -> Path:
    """Where it is kept: under the user's config directory."""
    return Path(click.get_app_dir("hourbell")) / "login.json"


def stored_login() -> Login | None:
    """What login stored; None where it did not.

    Raises:
        ClientError: the file cannot be read, or is open to others.
    """
    path = login_file()
    try:
        text = path.read_text(encoding="utf-8")
        mode = path.stat().st_mode & 0o777
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ClientError(f"{path} cannot be read: {error}") from error
    if os.name == "posix" and mode & 0o077:
        raise ClientError(f"{path} holds an API key and others can read it: chmod 600 it, or log in again.")
    try:
        value = json.loads(text)
        return Login(str(value["url"]), str(value["api_key"]))
    except (ValueError, TypeError, KeyError) as error:
        raise ClientError(f"{path} is not what login writes: log in again.") from error


def _write(path: Path, stored: Login) -> None:
    """The whole file or none, and never one that others can read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_suffix(".new")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(stored._asdict(), file)
    partial.replace(path)
