"""What is shown of a call is what the kind sends, and no secret."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hourbell.domain.target_kind import TargetKind
from hourbell.targets.aws import AwsCaller
from hourbell.targets.call import TargetCall
from hourbell.targets.http import request_headers
from hourbell.targets.registry import Callers, call_target
from hourbell.targets.sent import BODY_MAX_CHARACTERS, describe_call

from tests.seeds import T0
from tests.unit.targets.calls import ACCOUNT, REGION, RULES, target_call

QUEUE = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/orders"
ARNS = {
    "lambda": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:settle",
    "sns": f"arn:aws:sns:{REGION}:{ACCOUNT}:news",
    "step_functions": f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:close",
}
CASES: list[tuple[str, dict[str, Any], str, str | None]] = [
    ("lambda", {"arn": ARNS["lambda"], "invocation": "sync"}, ARNS["lambda"], "Payload"),
    ("sqs", {"queue_url": QUEUE, "message_group_id": None}, QUEUE, "MessageBody"),
    ("sns", {"topic_arn": ARNS["sns"], "message_group_id": None}, ARNS["sns"], "Message"),
    ("step_functions", {"state_machine_arn": ARNS["step_functions"]}, ARNS["step_functions"], "input"),
    ("eventbridge", {"bus": "orders", "source": "pay", "detail_type": "due"}, "orders", "Detail"),
]


class Service:
    """Keeps the one request that is made."""

    exceptions = SimpleNamespace(ExecutionAlreadyExists=KeyError)

    def __init__(self) -> None:
        self.request: dict[str, Any] = {}

    def __getattr__(self, _action: str) -> Any:
        def act(**request: Any) -> Any:
            self.request = request.get("Entries", [request])[0]
            raise RuntimeError("was asked")

        return act


def request_of(kind: str, call: TargetCall) -> dict[str, Any]:
    service = Service()
    aws = AwsCaller(lambda _service: service, RULES)
    with pytest.raises(RuntimeError, match="was asked"):
        asyncio.run(call_target(TargetKind(kind), Callers(http=None, aws=lambda: aws), call))  # type: ignore[arg-type]
    return service.request


@pytest.mark.parametrize(("kind", "config", "address", "body"), CASES, ids=[case[0] for case in CASES])
def test_a_call_in_aws_is_shown_as_it_is_made(kind: str, config: dict[str, Any], address: str, body: str):
    call = target_call(config, is_test=True)
    request = request_of(kind, call)
    text = request[body].decode() if isinstance(request[body], bytes) else request[body]

    shown = describe_call(TargetKind(kind), call)

    assert (shown["method"], shown["to"], shown["body"]) == (None, address, text)
    attributes = {name: value["StringValue"] for name, value in request.get("MessageAttributes", {}).items()}
    assert shown["headers"] == attributes
    if attributes:
        assert attributes["Hourbell-Test"] == "true"
    else:
        assert json.loads(text)["hourbell"]["test"] is True


def test_an_http_call_is_shown_without_its_own_values_and_its_signature():
    call = target_call({"url": "https://sink.test/a", "method": "PUT", "headers": {"X-Token": "hush"}}, is_test=True)

    shown = describe_call(TargetKind.HTTP, call)

    hidden = {"X-Token": "***", "webhook-timestamp": "***", "webhook-signature": "***"}
    assert shown["headers"] == {**request_headers(call, key=b"key", now=T0), **hidden}
    assert shown["headers"]["Hourbell-Test"] == "true"
    assert (shown["method"], shown["to"], shown["body"]) == ("PUT", "https://sink.test/a", call.payload)


def test_a_long_body_is_cut():
    call = target_call({"url": "https://sink.test/a"}, payload=json.dumps("x" * 10_000))

    assert len(describe_call(TargetKind.HTTP, call)["body"]) == BODY_MAX_CHARACTERS


def test_no_run_says_that_it_is_a_test():
    call = target_call({"url": "https://sink.test/a"})

    assert "Hourbell-Test" not in request_headers(call, key=b"key", now=T0)
