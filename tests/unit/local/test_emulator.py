"""Ports of the emulator, and what its Lambdas inherit."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from hourbell.local import emulator
from hourbell.local.errors import LocalCloudError
from hourbell.local.processes import MARK


def test_a_free_port_can_be_bound():
    with socket.socket() as server:
        server.bind(("127.0.0.1", emulator.free_port()))


def test_a_preferred_port_is_taken_first_when_it_is_free():
    port = emulator.free_port()
    assert next(emulator._ports(port)) == port


def test_a_preferred_port_that_somebody_listens_on_is_left_to_them():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        taken = server.getsockname()[1]
        assert taken not in list(emulator._ports(taken))


def test_the_lambdas_inherit_nothing_of_the_callers_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    environ = emulator._environ(4566, Path("/programs"), tmp_path, tmp_path / "s3", "mark")
    assert "AWS_PROFILE" not in environ
    assert "PYTHONPATH" not in environ
    assert environ["BIND_HOST"] == "127.0.0.1"
    assert environ[MARK] == "mark"
    assert environ["PATH"].startswith("/programs:")


def test_an_emulator_that_ends_at_once_is_explained_with_its_own_words(tmp_path: Path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no such module >&2\nexit 3\n")
    python.chmod(0o755)
    with pytest.raises(LocalCloudError, match="no such module"):
        emulator.start(
            python=python,
            programs=tmp_path,
            scratch=tmp_path / "scratch",
            objects=tmp_path / "s3",
            log=tmp_path / "log",
            mark=str(tmp_path),
            started=lambda process: None,
        )


def test_a_port_that_is_taken_between_choice_and_use_is_tried_again(tmp_path: Path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho ERROR: 127.0.0.1:$GATEWAY_PORT is already in use\nexit 1\n")
    python.chmod(0o755)
    seen: list[object] = []
    with pytest.raises(LocalCloudError, match="No port"):
        emulator.start(
            python=python,
            programs=tmp_path,
            scratch=tmp_path / "scratch",
            objects=tmp_path / "s3",
            log=tmp_path / "log",
            mark=str(tmp_path),
            started=seen.append,
        )
    assert len(seen) == 5
