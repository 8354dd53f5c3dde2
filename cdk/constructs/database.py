"""The database as the functions see it, whoever runs it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

from cdk.constructs.function import HourbellFunction


class DatabaseRole(StrEnum):
    """Who a function is in Postgres; made by the bootstrap, granted table by table by the migrations."""

    API = "hourbell_api"
    AUTHORIZER = "hourbell_authorizer"
    LOADER = "hourbell_loader"
    SCANNER = "hourbell_scanner"
    WORKER = "hourbell_worker"
    MIGRATOR = "hourbell_migrator"


class Database(Protocol):
    """A Postgres server that functions connect to."""

    def environment(self, role: DatabaseRole) -> Mapping[str, str]:
        """What a function that connects as `role` is told."""

    def administrator_environment(self) -> Mapping[str, str]:
        """What the migrator is told, which owns the schema, and makes the roles before there are any."""

    def grant_connect(self, function: HourbellFunction, role: DatabaseRole) -> None:
        """Let the function connect as `role`."""

    def grant_administer(self, function: HourbellFunction) -> None:
        """Let the function connect as the administrator."""
