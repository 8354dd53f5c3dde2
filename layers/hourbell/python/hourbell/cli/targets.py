"""``hourbell targets``."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from hourbell.cli.confirmation import Yes, confirm_each
from hourbell.cli.connection import connect
from hourbell.cli.editor import edit_json
from hourbell.cli.job_options import read_json, read_payload
from hourbell.cli.merge_patch import difference
from hourbell.cli.output import AsJson, print_error, print_fields, print_json, print_table
from hourbell.client import ApiError, Client, ClientError, Target, TargetTest

app = typer.Typer(no_args_is_help=True, help="Targets: where runs go, and how fast.")

KINDS = ("http", "lambda", "sqs", "sns", "eventbridge", "step_functions", "pull")
_LIMITS = ("rate_per_second", "burst", "max_concurrency")

TargetArgument = Annotated[str, typer.Argument(metavar="TARGET", help="A target's id (tgt_…) or its name.")]
Url = Annotated[str | None, typer.Option(help="HTTP: the address to call.")]
Method = Annotated[str | None, typer.Option(help="HTTP: POST, PUT, PATCH, GET or DELETE.")]
Headers = Annotated[list[str] | None, typer.Option("--header", help="HTTP: 'Name: value'; may be repeated.")]
Secret = Annotated[str | None, typer.Option(help="HTTP: name of the secret that signs the calls.")]
Queue = Annotated[str | None, typer.Option("--sqs", help="URL of a queue.")]
Topic = Annotated[str | None, typer.Option("--sns", help="ARN of a topic.")]
StateMachine = Annotated[str | None, typer.Option("--step-functions", help="ARN of a state machine.")]
Bus = Annotated[
    str | None, typer.Option("--eventbridge", help="A bus, its source and its detail type: default/billing/settle.")
]
Pull = Annotated[bool, typer.Option("--pull", help="Nothing is called: workers fetch the runs themselves.")]
Rate = Annotated[float | None, typer.Option(help="Calls a second, in the long run.")]
Burst = Annotated[int | None, typer.Option(min=1, help="Calls at once within that rate.")]
Concurrency = Annotated[int | None, typer.Option("--max-concurrency", min=1, help="Runs under way at once.")]
NoLimit = Annotated[
    list[str] | None, typer.Option("--no", help="Take a limit away: rate_per_second, burst, max_concurrency.")
]
File = Annotated[str | None, typer.Option(help="A body as JSON; - reads standard input. Options go before it.")]


@app.command("list")
def list_targets(
    *,
    state: Annotated[Literal["active", "paused"] | None, typer.Option()] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Where the page before ended.")] = None,
    as_json: AsJson = False,
) -> None:
    """List named targets."""
    with connect() as client:
        page = client.list_targets(state=state, limit=limit, cursor=cursor)
    if as_json:
        return print_json(page)
    rows = (
        (
            target["name"],
            *destination(target),
            target["state"],
            target["rate_per_second"],
            target["max_concurrency"],
            target["id"],
        )
        for target in page["items"]
    )
    print_table(("NAME", "KIND", "WHERE", "STATE", "PER SECOND", "AT ONCE", "ID"), rows, empty="No targets.")
    if page["next_cursor"]:
        typer.echo(f"More: --cursor {page['next_cursor']}")
    return None


@app.command()
def show(target: TargetArgument, *, as_json: AsJson = False) -> None:
    """Show one target."""
    with connect() as client:
        _print(find_target(client, target), as_json=as_json)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What jobs call it.")],
    *,
    url: Url = None,
    method: Method = None,
    header: Headers = None,
    secret: Secret = None,
    function: Annotated[str | None, typer.Option("--lambda", help="ARN of a function.")] = None,
    queue: Queue = None,
    topic: Topic = None,
    bus: Bus = None,
    state_machine: StateMachine = None,
    pull: Pull = False,
    rate_per_second: Rate = None,
    burst: Burst = None,
    max_concurrency: Concurrency = None,
    file: File = None,
    as_json: AsJson = False,
) -> None:
    """Name a destination and its limits."""
    body = _body(
        file,
        http=_http(url, method, header, secret),
        function=function,
        queue=queue,
        topic=topic,
        bus=bus,
        state_machine=state_machine,
        pull=pull,
        limits={"rate_per_second": rate_per_second, "burst": burst, "max_concurrency": max_concurrency},
    )
    if not any(kind in body for kind in KINDS):
        raise typer.BadParameter(
            "a target needs a --url, --lambda, --sqs, --sns, --eventbridge, --step-functions or --pull"
        )
    with connect() as client:
        _print(client.create_target(**{**body, "name": name}), as_json=as_json)


@app.command()
def edit(
    target: TargetArgument,
    *,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    url: Url = None,
    method: Method = None,
    header: Headers = None,
    secret: Secret = None,
    rate_per_second: Rate = None,
    burst: Burst = None,
    max_concurrency: Concurrency = None,
    no: NoLimit = None,
    file: File = None,
    editor: Annotated[bool, typer.Option("--editor", help="Edit it as JSON in $EDITOR.")] = False,
    as_json: AsJson = False,
) -> None:
    """Change what the options name; new limits hold at once, also for what waits."""
    limits = {"rate_per_second": rate_per_second, "burst": burst, "max_concurrency": max_concurrency}
    changes = _body(file, http=_http(url, method, header, secret), limits=limits)
    changes |= {} if name is None else {"name": name}
    for limit in no or []:
        if limit not in _LIMITS:
            raise typer.BadParameter(f"must be one of {', '.join(_LIMITS)}", param_hint="--no")
        changes[limit] = None
    if bool(changes) == editor:
        raise typer.BadParameter("--editor goes alone" if editor else "say what to change, or give --editor")
    with connect() as client:
        found = find_target(client, target)
        changes = changes or _edited(found)
        if changes:
            found = _update(client, found, changes)
        elif not as_json:
            typer.echo("Nothing was changed.")
            return
    _print(found, as_json=as_json)


@app.command()
def pause(target: TargetArgument, *, as_json: AsJson = False) -> None:
    """Hold back the runs of all its jobs; they wait without using up attempts."""
    with connect() as client:
        _print(client.pause_target(find_target(client, target)["id"]), as_json=as_json)


@app.command()
def resume(target: TargetArgument, *, as_json: AsJson = False) -> None:
    """Let the runs that waited go, at the target's pace."""
    with connect() as client:
        _print(client.resume_target(find_target(client, target)["id"]), as_json=as_json)


@app.command()
def secret(target: TargetArgument, *, as_json: AsJson = False) -> None:
    """Print the key with which its calls are signed, for whoever verifies them."""
    with connect() as client:
        found = client.signing_secret(find_target(client, target)["id"])
    if as_json:
        return print_json(found)
    if found["signing_secret"] is None:
        print_error(f"It is in the secret {found['secret']}, which the target names.")
        raise typer.Exit(1)
    return typer.echo(found["signing_secret"])


@app.command("test")
def call_once(
    target: TargetArgument,
    *,
    payload: Annotated[str | None, typer.Option(help='JSON, or @file, instead of {"test": true}.')] = None,
    as_json: AsJson = False,
) -> None:
    """Call it once now, outside any job, and show what came of it; exit 1 unless it succeeded."""
    body = None if payload is None else {"payload": read_payload(payload)}
    with connect() as client:
        found = client.test_target(find_target(client, target)["id"], body)
    if as_json:
        print_json(found)
    else:
        print_fields(_test_fields(found))
    if found["state"] == "pending":
        print_error("No worker had a result in time: are there workers, and do they keep up?")
    if found["outcome"] != "succeeded":
        raise typer.Exit(1)


@app.command()
def delete(
    target: Annotated[list[str], typer.Argument(metavar="TARGET...", help="Ids (tgt_…) or names.")], *, yes: Yes = False
) -> None:
    """Delete targets that no job uses, several after a question."""
    with connect() as client:
        found = {each["id"]: each["name"] or each["id"] for each in (find_target(client, one) for one in target)}
        confirm_each("Delete", "target", list(found.values()), yes=yes)
        for target_id in found:
            client.delete_target(target_id)
            typer.echo(f"{target_id} deleted")


def find_target(client: Client, target: str) -> Target:
    """The target of this id or name.

    Raises:
        ClientError: there is none.
    """
    if target.startswith("tgt_"):
        return client.get_target(target)
    found = client.list_targets(name=target, limit=1)["items"]
    if not found:
        raise ClientError(f"There is no target named {target!r}.")
    return found[0]


def destination(target: Target) -> tuple[str, str]:
    """A target's kind, and in a few words where it leads."""
    members: dict[str, Any] = dict(target)
    for kind in KINDS:
        config = members.get(kind)
        if config is not None:
            named = (config.get(name) for name in ("url", "arn", "queue_url", "topic_arn", "state_machine_arn"))
            return kind, next(filter(None, named), "/".join(str(part) for part in config.values()))
    return "", ""


def _test_fields(test: TargetTest) -> dict[str, object]:
    sent = test["sent"]
    fields: dict[str, object] = {
        "outcome": test["outcome"] or test["state"],
        "status": test["status_code"],
        "took": None if test["duration_ms"] is None else f"{test['duration_ms']} ms",
        "error": test["error"],
    }
    if sent is not None:
        fields["sent"] = f"{sent['method'] or ''} {sent['to']}".strip()
        fields |= sent["headers"]
        fields["body"] = sent["body"]
    return {**fields, "id": test["id"]}


def _http(url: str | None, method: str | None, headers: list[str] | None, secret: str | None) -> dict[str, Any]:
    given = {"url": url, "method": method, "secret": secret}
    config: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if headers:
        config["headers"] = dict(_header(text) for text in headers)
    return config


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise typer.BadParameter(f"{text!r} is not 'Name: value'", param_hint="--header")
    return name.strip(), value.strip()


def _body(
    file: str | None,
    *,
    http: dict[str, Any],
    limits: dict[str, float | None],
    function: str | None = None,
    queue: str | None = None,
    topic: str | None = None,
    bus: str | None = None,
    state_machine: str | None = None,
    pull: bool = False,
) -> dict[str, Any]:
    body: dict[str, Any] = read_json(file, "--file") if file else {}
    if not isinstance(body, dict):
        raise typer.BadParameter("not a JSON object", param_hint="--file")
    kinds = {
        "http": http or None,
        "lambda": function and {"arn": function},
        "sqs": queue and {"queue_url": queue},
        "sns": topic and {"topic_arn": topic},
        "eventbridge": bus and _bus(bus),
        "step_functions": state_machine and {"state_machine_arn": state_machine},
        "pull": {} if pull else None,
    }
    return {**body, **{name: value for name, value in {**kinds, **limits}.items() if value is not None}}


def _bus(text: str) -> dict[str, str]:
    # The name or the ARN of the bus may hold slashes; source and detail type come last.
    parts = text.rsplit("/", 2)
    if len(parts) != 3:
        raise typer.BadParameter("must be bus/source/detail type", param_hint="--eventbridge")
    return dict(zip(("bus", "source", "detail_type"), parts, strict=True))


def _edited(target: Target) -> dict[str, Any]:
    members: dict[str, Any] = dict(target)
    before = {name: value for name, value in members.items() if name in ("name", *KINDS, *_LIMITS)}
    after = edit_json(before)
    return {} if after is None else difference(before, after)


def _update(client: Client, target: Target, changes: dict[str, Any]) -> Target:
    try:
        return client.update_target(target["id"], changes, if_version=target["version"])
    except ApiError as error:
        if error.status == 412:
            raise ClientError("The target was changed meanwhile. Look at it, and edit it again.") from error
        raise


def _print(target: Target, *, as_json: bool) -> None:
    if as_json:
        return print_json(target)
    shown = {name: value for name, value in target.items() if name not in KINDS}
    kind, where = destination(target)
    config = dict(target).get(kind)
    print_fields({"name": shown.pop("name"), kind: where, **shown, "config": json.dumps(config, ensure_ascii=False)})
    return None
