"""Rules of the room: nag, lint, purity, and where policy statements may be written."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from aws_cdk import App, Stack, Validations
from aws_cdk import aws_sqs as sqs
from cdk_nag import AwsSolutionsChecks

from cdk.settings import StageSettings
from tests.infrastructure.templates import ROOT, Assembly, context

CDK = ROOT / "cdk"


def test_cdk_nag_finds_nothing_that_is_not_acknowledged(assembly: Assembly) -> None:
    report = json.loads((assembly.folder / "validation-report.json").read_text())
    assert not report.get("pluginReports")


def test_an_unacknowledged_finding_stops_the_synthesis(tmp_path: Path) -> None:
    """Guards the test above: the checks do run."""
    app = App(context=context(), outdir=str(tmp_path), analytics_reporting=False)
    sqs.Queue(Stack(app, "Careless"), "Open")
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    with pytest.raises(RuntimeError):
        app.synth()
    assert "AwsSolutions-SQS4" in (tmp_path / "validation-report.json").read_text()


def test_cfn_lint_finds_nothing(assemblies: Mapping[str, Assembly]) -> None:
    lint = Path(sys.executable).with_name("cfn-lint")
    templates = [file for assembly in assemblies.values() for file in assembly.folder.glob("*.template.json")]
    command = [lint, "--config-file", ROOT / ".cfnlintrc.yaml", "--template", *templates]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_no_template_names_an_account_or_a_region(assembly: Assembly, settings: StageSettings) -> None:
    for name, template in assembly.templates.items():
        text = json.dumps(template)
        assert not re.search(r"\b\d{12}\b", text), name
        assert not re.search(r"\b(us|eu|ap)-[a-z]+-\d\b", text), name


def test_policy_statements_are_written_in_constructs_only() -> None:
    outside = [CDK / "app.py", CDK / "settings.py", *(CDK / "stacks").glob("*.py")]
    assert [file.name for file in outside if "PolicyStatement" in file.read_text()] == []


def test_stages_differ_in_their_settings_only() -> None:
    """Nothing asks which stage it is."""
    asks = re.compile(r"""\.name\s*(==|!=|in\b)|["'](prod|local)["']""")
    files = [*(CDK / "stacks").glob("*.py"), *(CDK / "constructs").glob("*.py")]
    assert [file.name for file in files if asks.search(file.read_text())] == []


def test_every_stack_says_what_it_is(assembly: Assembly, settings: StageSettings) -> None:
    for name, template in assembly.templates.items():
        assert template["Description"].startswith(f"Hourbell {settings.name}: "), name
