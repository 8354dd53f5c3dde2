"""Tables on terminals and in pipes."""

from __future__ import annotations

import pytest
from hourbell.cli import output
from rich.console import Console

ID = "job_" + 26 * "0"
ROW = (ID, "a name that goes on and on", "0 2 * * * (Asia/Kolkata)", "active", "2026-11-30T20:30:00.000Z")


def printed(monkeypatch: pytest.MonkeyPatch, capsys, *, width: int) -> list[str]:
    monkeypatch.setattr(output, "console", lambda: Console(width=width, highlight=False))
    output.print_table(("ID", "NAME", "SCHEDULE", "STATE", "NEXT RUN"), [ROW, ROW], empty="")
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert all(len(line) <= width for line in lines)
    return lines


def test_a_table_fits_a_terminal_by_its_texts_alone(monkeypatch: pytest.MonkeyPatch, capsys):
    lines = printed(monkeypatch, capsys, width=100)
    assert len(lines) == 3
    for line in lines[1:]:
        assert line.startswith(ID)
        assert line.split()[-2:] == ["active", "2026-11-30T20:30:00.000Z"]


@pytest.mark.parametrize(("width", "lines_a_row"), [(80, 2), (40, 4)])
def test_a_row_that_fits_no_line_goes_on_in_the_next(
    monkeypatch: pytest.MonkeyPatch, capsys, width: int, lines_a_row: int
):
    lines = printed(monkeypatch, capsys, width=width)
    assert len(lines) == 3 * lines_a_row
    row = " ".join(" ".join(lines[lines_a_row : 2 * lines_a_row]).split())
    assert row == " ".join(ROW)


def test_a_pipe_gets_everything(capsys):
    output.print_table(("ID", "NAME", "SCHEDULE", "STATE", "NEXT RUN"), [ROW], empty="")
    line = capsys.readouterr().out.splitlines()[-1]
    assert all(value in line for value in ROW)
