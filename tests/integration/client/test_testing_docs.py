"""The examples of docs/testing.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PAGE = (Path(__file__).parents[3] / "docs" / "testing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_pass_as_somebody_elses_tests(pytester: pytest.Pytester):
    conftest, *tests, script = BLOCKS
    pytester.makeconftest(conftest)
    pytester.makepyfile(test_first=tests[0], test_second=tests[1], test_third=f"def test_script():\n{indented(script)}")
    pytester.runpytest_subprocess("-q", "-W", "error").assert_outcomes(passed=3)


def indented(code: str) -> str:
    return "".join(f"    {line}\n" for line in code.splitlines())
