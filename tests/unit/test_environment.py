"""What an execution environment reads of Secrets Manager."""

from __future__ import annotations

import pytest
from hourbell import environment


class SecretsManager:
    """Answers every name with one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - boto3 spells it so
        return {"Name": SecretId, "SecretString": self.text}


@pytest.mark.parametrize("text", ["k3y", "{J9zm|.>,>%4x", "[1", '{"a": 1}', '"'])
def test_the_signing_key_is_the_secrets_text_whatever_it_looks_like(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(environment, "aws_client", lambda _service: SecretsManager(text))
    monkeypatch.setattr(environment, "_secrets", {})

    assert environment.stage_key("signing") == text.encode()
