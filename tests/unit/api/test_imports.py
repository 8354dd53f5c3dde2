"""A cold start pays for what the function uses, and for nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUNCTIONS = Path(__file__).parents[3] / "functions"


@pytest.mark.parametrize(
    ("function", "unwanted"),
    [
        (
            "api",
            [
                "boto3",
                "botocore.session",
                "httpx",
                "croniter",
                "hourbell.api.openapi",
                "hourbell.api.schemas",
                "hourbell.api.docs_page",
            ],
        ),
        (
            "authorizer",
            ["boto3", "botocore", "httpx", "croniter", "pydantic", "aws_lambda_powertools", "hourbell.domain.schedule"],
        ),
    ],
)
def test_a_handler_imports_only_what_it_needs(function, unwanted):
    code = f"import sys; sys.path.insert(0, {str(FUNCTIONS / function)!r}); import handler; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()

    assert "handler" in loaded
    assert [name for name in unwanted if name in loaded] == []
