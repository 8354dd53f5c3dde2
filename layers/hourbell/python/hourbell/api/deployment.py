"""The operation that tells operators how the deployment stands; `hourbell doctor` judges it."""

from __future__ import annotations

from typing import Any

from hourbell.api.calls import Call, Reply
from hourbell.api.operations import Operation
from hourbell.api.views import encode_json
from hourbell.domain.instants import format_instant


def get_deployment(call: Call) -> Reply:
    """Nothing of any tenant: clocks, the schema, partitions, and when each shard range was last scanned."""
    from hourbell.store import deployment
    from hourbell.store.connection import Connection
    from hourbell.store.migrate import migrations

    def read(connection: Connection) -> dict[str, Any]:
        stored = deployment.inspect_deployment(connection)
        through = stored.partitions_through
        return {
            "at": format_instant(call.now),
            "database_at": format_instant(stored.at),
            "schema": {"applied": stored.migration, "expected": len(migrations())},
            "partitions_through": None if through is None else through.isoformat(),
            "scanners": [
                {
                    "first_shard": one.first_shard,
                    "last_shard": one.last_shard,
                    "renewed_at": None if one.renewed_at is None else format_instant(one.renewed_at),
                }
                for one in stored.scanners
            ],
        }

    return Reply(body=encode_json(call.api.scheduler.database.run(read)))


OPERATIONS = (
    Operation(
        method="GET",
        path="/v1/deployment",
        name="getDeployment",
        summary="How the deployment stands: clocks, schema, partitions, scanners",
        handle=get_deployment,
        scope="operator",
        reply="Deployment",
    ),
)
