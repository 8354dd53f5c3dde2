"""``hourbell cold``: what operators see of flaws, and that nothing is done before they say so."""

from __future__ import annotations

import json

import pytest
from hourbell.cli.main import app
from hourbell.client import ClientError
from hourbell.cold.errors import ColdUnavailableError
from hourbell.services import verify_cold as service
from hourbell.services.verify_cold import Flaw, FoundFlaw, Repair
from typer.testing import CliRunner

WHERE = ["--database", "dbname=none", "--bucket", "none"]
MISSING = FoundFlaw(kind=Flaw.MISSING, key="cold/2027-01-01/00/a", detail="is missing", jobs=7)
LEFTOVER = FoundFlaw(kind=Flaw.LEFTOVER, key="cold/2027-01-01/00/b", detail="nobody needs it", jobs=0)


def run(*arguments: str):
    return CliRunner().invoke(app, ["cold", *arguments, *WHERE])


@pytest.fixture(autouse=True)
def _credentials(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


def found(monkeypatch, *flaws: FoundFlaw) -> None:
    monkeypatch.setattr(service, "verify_cold", lambda *_, **__: iter(flaws))


def test_a_whole_tier_is_fine(monkeypatch):
    found(monkeypatch)

    result = run("verify")

    assert (result.exit_code, result.output.strip()) == (0, "Every segment is whole.")


def test_a_flaw_is_named_by_its_object_and_fails(monkeypatch):
    found(monkeypatch, MISSING, LEFTOVER)

    result = run("verify")

    assert result.exit_code == 1
    assert "missing" in result.output
    assert MISSING.key in result.output
    assert LEFTOVER.key in result.output


def test_what_harms_no_job_is_named_and_does_not_fail(monkeypatch):
    found(monkeypatch, LEFTOVER)

    result = run("verify", "--json")

    assert result.exit_code == 0
    assert json.loads(result.output)["flaws"] == [
        {"flaw": "leftover", "object": LEFTOVER.key, "jobs": 0, "detail": "nobody needs it"}
    ]


def test_nothing_is_repaired_before_somebody_says_so(monkeypatch):
    acts: list[str] = []
    repair = Repair(flaw=MISSING, action="store it again", act=lambda: acts.append("stored"))
    monkeypatch.setattr(service, "plan_repairs", lambda *_, **__: iter([repair]))

    planned, planned_acts, done = run("rebuild"), list(acts), run("rebuild", "--apply")

    assert (planned.exit_code, planned_acts, done.exit_code, acts) == (1, [], 0, ["stored"])
    assert "hourbell cold rebuild --apply" in planned.output


def test_what_cannot_be_repaired_fails(monkeypatch):
    monkeypatch.setattr(
        service, "plan_repairs", lambda *_, **__: iter([Repair(flaw=MISSING, action="nothing", act=None)])
    )

    assert run("rebuild", "--apply").exit_code == 1


def test_what_was_repaired_in_part_fails(monkeypatch):
    acts: list[str] = []
    part = Repair(flaw=MISSING, action="store what is left", act=lambda: acts.append("stored"), heals=False)
    monkeypatch.setattr(service, "plan_repairs", lambda *_, **__: iter([part]))

    assert (run("rebuild", "--apply").exit_code, acts) == (1, ["stored"])


def test_s3_that_does_not_answer_is_one_line(monkeypatch):
    def unavailable(*_, **__):
        raise ColdUnavailableError("cold/: 503")

    monkeypatch.setattr(service, "verify_cold", unavailable)

    assert "S3 did not answer" in str(run("verify").exception)


def test_a_database_without_a_bucket_is_wrong_usage():
    assert CliRunner().invoke(app, ["cold", "verify", "--database", "x"]).exit_code == 2


def test_an_aws_profile_that_is_not_there_is_a_refusal(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody")

    result = run("verify")

    assert isinstance(result.exception, ClientError)
    assert "(nobody) could not be found" in str(result.exception)
