"""Tables on terminals and in pipes."""

from __future__ import annotations

import pytest
from hourbell.cli import output
from rich.console import Console

ID = "job_" + 26 * "0"
ROW = (ID, "a name that goes on and on", "0 2 * * * (Asia/Kolkata)", "active", "2026-11-30T20:30:00.000Z")


def test_a_table_fits_a_terminal_line_by_line_with_its_ids_whole(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(output, "console", lambda: Console(width=80, highlight=False))
    output.print_table(("ID", "NAME", "SCHEDULE", "STATE", "NEXT RUN"), [ROW, ROW], empty="")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)
    assert lines[1].startswith(ID)


def test_a_pipe_gets_everything(capsys):
    output.print_table(("ID", "NAME", "SCHEDULE", "STATE", "NEXT RUN"), [ROW], empty="")
    line = capsys.readouterr().out.splitlines()[-1]
    assert all(value in line for value in ROW)
