"""``hourbell login``: stored for its user alone, and used where the environment names nothing."""

from __future__ import annotations

import io
from pathlib import Path

import httpx
import pytest
from hourbell.cli import connection, main
from hourbell.cli import login as login_module
from hourbell.client import Client, ClientError
from typer.testing import CliRunner


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HOURBELL_URL", raising=False)
    monkeypatch.delenv("HOURBELL_API_KEY", raising=False)
    monkeypatch.setenv("HOURBELL_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(login_module.click, "get_app_dir", lambda name: str(tmp_path / name))
    return tmp_path


def answering(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    body = {"items": [], "next_cursor": None} if status == 200 else {"status": status, "detail": "no valid key"}
    transport = httpx.MockTransport(lambda _request: httpx.Response(status, json=body))
    monkeypatch.setattr(login_module, "Client", lambda url, key: Client(url, key, transport=transport))


def test_a_login_is_stored_for_its_user_alone_and_used(home: Path, monkeypatch):
    answering(monkeypatch, 200)
    result = CliRunner().invoke(main.app, ["login", "--url", "https://hourbell.example/"], input="hb_live_key\n")
    assert result.exit_code == 0
    assert "hb_live_key" not in result.output
    file = home / "hourbell" / "login.json"
    assert file.stat().st_mode & 0o777 == 0o600
    with connection.connect() as client:
        assert client.url == "https://hourbell.example"


def test_a_key_from_a_pipe_is_read_without_a_word(home: Path, monkeypatch, capsys):
    answering(monkeypatch, 200)
    monkeypatch.setattr("sys.stdin", io.StringIO("hb_live_key\n"))
    main.app(["login", "--url", "https://hourbell.example"], standalone_mode=False)
    printed = capsys.readouterr()
    assert (printed.err, printed.out.startswith("Stored in ")) == ("", True)
    assert login_module.stored_login() == ("https://hourbell.example", "hb_live_key")


def test_a_terminal_is_asked_for_the_key_unseen(home: Path, monkeypatch):
    answering(monkeypatch, 200)
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    asked: list[tuple[str, bool]] = []

    def prompt(text: str, *, hide_input: bool) -> str:
        asked.append((text, hide_input))
        return "hb_live_typed"

    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr(login_module.typer, "prompt", prompt)
    main.app(["login", "--url", "https://hourbell.example"], standalone_mode=False)
    assert asked == [("API key", True)]
    assert login_module.stored_login() == ("https://hourbell.example", "hb_live_typed")


def test_an_empty_pipe_is_no_key(home: Path):
    result = CliRunner().invoke(main.app, ["login", "--url", "https://x"], input="")
    assert isinstance(result.exception, ClientError)
    assert not (home / "hourbell" / "login.json").exists()


def test_a_key_that_is_refused_is_not_stored(home: Path, monkeypatch):
    answering(monkeypatch, 401)
    result = CliRunner().invoke(main.app, ["login", "--url", "https://x", "--api-key", "hb_no"])
    assert isinstance(result.exception, ClientError)
    assert not (home / "hourbell" / "login.json").exists()


def test_the_environment_goes_before_the_login(home: Path, monkeypatch):
    login_module._write(login_module.login_file(), login_module.Login("https://stored", "hb_a"))
    monkeypatch.setenv("HOURBELL_URL", "https://named")
    monkeypatch.setenv("HOURBELL_API_KEY", "hb_b")
    with connection.connect() as client:
        assert client.url == "https://named"


def test_a_file_that_others_can_read_is_refused(home: Path):
    login_module._write(login_module.login_file(), login_module.Login("https://stored", "hb_a"))
    login_module.login_file().chmod(0o644)
    with pytest.raises(ClientError, match="chmod 600"):
        connection.connect()


def test_logout_forgets(home: Path):
    login_module._write(login_module.login_file(), login_module.Login("https://stored", "hb_a"))
    assert CliRunner().invoke(main.app, ["logout"]).output == "Logged out.\n"
    assert CliRunner().invoke(main.app, ["logout"]).output == "Nothing was stored.\n"
    with pytest.raises(ClientError, match="hourbell login"):
        connection.connect()
