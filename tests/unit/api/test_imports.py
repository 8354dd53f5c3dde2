"""A cold start pays for what the function uses, and for nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FUNCTIONS = Path(__file__).parents[3] / "functions"


UNWANTED = {
    "api": (
        "boto3",
        "botocore.session",
        "httpx",
        "croniter",
        "pydantic",
        "hourbell.api.openapi",
        "hourbell.api.schemas",
        "hourbell.api.docs_page",
        "hourbell.api.console_page",
        "hourbell.api.page_policy",
        "hourbell.services.keys",
        "hourbell.services.operate_tenants",
        "hourbell.services.pause_jobs",
        "hourbell.services.skip_jobs",
        "hourbell.store.job_lists",
    ),
    "authorizer": (
        "boto3",
        "botocore",
        "httpx",
        "croniter",
        "pydantic",
        "aws_lambda_powertools",
        "hourbell.domain.schedule",
    ),
}


def imported(function: str, **environment: str) -> set[str]:
    code = f"import sys; sys.path.insert(0, {str(FUNCTIONS / function)!r}); import handler; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("function", UNWANTED)
def test_a_handler_imports_only_what_it_needs(function):
    loaded = imported(function)

    assert "handler" in loaded
    assert loaded.isdisjoint(UNWANTED[function])


def test_what_is_initialised_ahead_of_requests_is_complete():
    assert "hourbell.api.models" in imported("api", AWS_LAMBDA_INITIALIZATION_TYPE="snap-start")
