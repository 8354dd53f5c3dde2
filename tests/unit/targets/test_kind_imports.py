"""What a kind costs: each imports what it needs when it is first used, so that nobody pays for the others."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import asyncio, sys
from datetime import datetime, timedelta, timezone
from uuid import UUID

import httpx
from hourbell.domain.target_kind import TargetKind
from hourbell.targets import client
from hourbell.targets.call import TargetCall
from hourbell.targets.http import HttpCaller
from hourbell.targets.registry import Callers, call_target

async def key(target_id, secret):
    return b"key"

async def main():
    transport = httpx.MockTransport(lambda request: httpx.Response(200))
    now = datetime(2027, 5, 9, tzinfo=timezone.utc)
    async with httpx.AsyncClient(transport=transport) as made:
        callers = Callers(http=HttpCaller(client=made, clock=lambda: now, key=key), aws=lambda: 1 / 0)
        call = TargetCall(
            config={"url": "http://a.test/"}, payload="{}", timeout=timedelta(seconds=1), target_id=UUID(int=1),
            run_id=UUID(int=2), job_id=UUID(int=3), scheduled_for=now, attempt=1, lease_token=UUID(int=4),
        )
        return await call_target(TargetKind.HTTP, callers, call)

assert asyncio.run(main()).status_code == 200
print(*sys.modules)
"""
_CHECK = """
import sys
from uuid import UUID
from hourbell.domain.target_kind import TargetKind
from hourbell.targets.arns import AllowedTargets, Home
from hourbell.targets.registry import check_config
from hourbell.targets.rules import TargetRules

rules = TargetRules(stage="a", home=Home(region="eu-west-1", account="123456789012"), allowed=AllowedTargets(("*",)))
arn = "arn:aws:lambda:eu-west-1:123456789012:function:a"
check_config(TargetKind.LAMBDA, {"arn": arn, "invocation": "sync"}, rules=rules, tenant_id=UUID(int=1))
http = {"url": "https://a.example/", "method": "POST", "headers": {}, "secret": None}
check_config(TargetKind.HTTP, http, rules=rules, tenant_id=UUID(int=1))
print(*sys.modules)
"""


def imported(script: str) -> set[str]:
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(run.stdout.split())


def test_an_http_call_imports_nothing_of_the_kinds_in_aws():
    modules = imported(_SCRIPT)
    assert modules.isdisjoint({"boto3", "botocore", "hourbell.targets.aws", "hourbell.targets.arns"})


def test_checking_a_target_imports_nothing_that_calls():
    assert imported(_CHECK).isdisjoint({"boto3", "botocore", "httpx", "httpcore"})
