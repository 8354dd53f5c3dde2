"""Bring your own Postgres: the stage says where it is, and nothing is made."""

from collections.abc import Mapping

from cdk.constructs.database import DatabaseRole
from cdk.constructs.function import HourbellFunction
from cdk.settings import OwnDatabase


class OwnPostgres:
    """A server that lets the six roles in by itself (trust, a client certificate, `pg_ident`).

    Its administrator made them with `hourbell.store.bootstrap`.
    """

    def __init__(self, settings: OwnDatabase) -> None:
        self._conninfo = settings.conninfo

    def environment(self, role: DatabaseRole) -> Mapping[str, str]:
        """The stage's conninfo, as this role."""
        conninfo = self._conninfo.replace("{role}", role)
        return {"HOURBELL_DATABASE": conninfo, "HOURBELL_DATABASE_AUTH": "none"}

    def administrator_environment(self) -> Mapping[str, str]:
        """The migrator owns the schema; it needs to be no more than that."""
        nobody = {"HOURBELL_ADMINISTRATOR": "", "HOURBELL_ADMINISTRATOR_SECRET": ""}
        return {**self.environment(DatabaseRole.MIGRATOR), **nobody}

    def grant_connect(self, function: HourbellFunction, role: DatabaseRole) -> None:
        """Nothing to do: the server decides."""

    def grant_administer(self, function: HourbellFunction) -> None:
        """Nothing to do: the server decides."""
