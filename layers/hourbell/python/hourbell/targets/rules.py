"""What the stage lets targets be: told to every kind's ``check`` at create, and to the workers at each call."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from uuid import UUID

from hourbell.domain.errors import FieldError
from hourbell.domain.ids import encode
from hourbell.targets.arns import AllowedTargets, Arn, Home

# The characters of Secrets Manager's names ("CreateSecret", read 2026-11).
_SECRET_NAME = re.compile(r"[A-Za-z0-9/_+=.@-]{1,512}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRules:
    """The rules of one stage.

    ``private_allowed``: whether targets may be on private networks and on an emulator (the local stage).
    """

    stage: str
    home: Home
    allowed: AllowedTargets = field(default_factory=AllowedTargets)
    private_allowed: bool = False

    def secret_prefix(self, tenant_id: UUID) -> str:
        """What the names of a tenant's secrets begin with: no tenant signs with another's, nor with the stage's."""
        return f"hourbell/{self.stage}/targets/{encode('ten', tenant_id)}/"

    def check_secret(self, name: str, tenant_id: UUID, *, field: str) -> str:
        """Pass the name of a secret that this tenant's targets may use.

        Raises:
            FieldError.
        """
        prefix = self.secret_prefix(tenant_id)
        if not _SECRET_NAME.fullmatch(name) or not name.startswith(prefix) or name == prefix:
            raise FieldError(field, f"must be the name of a secret in Secrets Manager that begins with {prefix}")
        return name

    def check_allowed(self, arn: Arn, *, field: str) -> Arn:
        """Pass a resource that the stage's workers may call.

        Raises:
            FieldError: it is not in the stage's list, or it is a part of Hourbell itself.
        """
        own = f"hourbell-{self.stage}"
        name = arn.name.lower()
        if name == own or name.startswith(f"{own}-"):
            raise FieldError(field, f"{arn} belongs to Hourbell itself")
        if not self.allowed.allows(arn):
            raise FieldError(field, f"{arn} is not among the targets that stage {self.stage} allows")
        return arn
