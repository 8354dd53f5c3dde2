"""``/v1/deployment``: what `hourbell doctor` judges."""

from __future__ import annotations

from datetime import timedelta

from hourbell.api.schemas import REPLIES
from hourbell.services.scan_shards import ScanRange, scan_shards
from hourbell.store.connection import Database
from hourbell.store.migrate import migrations

from tests.integration.api.conftest import Client
from tests.seeds import T0, RecordingLanes


def test_a_deployment_shows_schema_partitions_and_who_scans(
    client: Client, admin, lanes: RecordingLanes, postgres, database_name
):
    scanner = Database(postgres.conninfo(database=database_name, user="hourbell_scanner"))
    scan_shards(
        scanner,
        lanes,
        ScanRange(first_shard=0, last_shard=63),
        owner="one",
        horizon=timedelta(seconds=120),
        time_left=lambda: True,
        now=T0,
    )
    scanner.close()
    admin.execute("select make_day_partitions('2027-05-11')")

    client.scopes = "operator"
    answer = client.get("/v1/deployment")

    assert answer.status == 200, answer.text
    REPLIES["Deployment"].model_validate(answer.json)
    assert answer.json["schema"] == {"applied": len(migrations()), "expected": len(migrations())}
    assert answer.json["partitions_through"] == "2027-05-11"
    assert answer.json["scanners"] == [{"first_shard": 0, "last_shard": 63, "renewed_at": "2027-05-09T12:00:00.000Z"}]


def test_it_is_for_operators(client: Client):
    client.scopes = "admin"
    assert client.get("/v1/deployment").status == 403
