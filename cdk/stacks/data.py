"""The data stack: what must outlive everything else, and the schema."""

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_kms as kms
from constructs import Construct

from cdk.constructs.aurora import AuroraPostgres
from cdk.constructs.database import Database
from cdk.constructs.function import HourbellFunction, Workshop
from cdk.constructs.layers import Layers
from cdk.constructs.migrations import Migrations
from cdk.constructs.own_postgres import OwnPostgres
from cdk.constructs.place import Place, Places, Sources
from cdk.constructs.secrets import FirstKey, SigningKey
from cdk.constructs.storage import ColdBucket, data_key
from cdk.settings import OwnDatabase, StageError, StageSettings


class DataStack(Stack):
    """Database, cold bucket, signing key; the migrator brings the schema up to date and makes the first API key.

    Stacks with functions depend on this one, so that new code never meets an old schema.
    """

    def __init__(
        self, scope: Construct, id: str, *, settings: StageSettings, sources: Sources, places: Places | None
    ) -> None:
        description = f"Hourbell {settings.name}: database, cold tier, schema"
        super().__init__(scope, id, description=description, termination_protection=settings.keep_data)
        key = data_key(self, "Key", settings=settings)
        self.cold_bucket = ColdBucket(self, "Cold", settings=settings, key=key)
        name = self.cold_bucket.bucket.bucket_name
        CfnOutput(self, "ColdBucketName", value=name, description="For hourbell cold verify and rebuild")
        self.signing_key = SigningKey(self, "SigningKey", keep=settings.keep_data)
        self.database: Database = self._database(settings, places, key)
        self._migrate(settings, sources, places.schema if places else None)

    def _database(self, settings: StageSettings, places: Places | None, key: kms.IKey) -> Database:
        if isinstance(settings.database, OwnDatabase):
            return OwnPostgres(settings.database)
        if places is None:
            raise StageError("Aurora needs a network")
        return AuroraPostgres(self, "Aurora", stage=settings, settings=settings.database, places=places, key=key)

    def _migrate(self, settings: StageSettings, sources: Sources, place: Place | None) -> None:
        layers = Layers(self, "Layers", settings=settings, build=sources.layers)
        first_key = FirstKey(self, "FirstKey", stage=settings.name)
        migrator = HourbellFunction(
            self,
            "Migrator",
            workshop=Workshop(settings=settings, sources=sources, layers=layers),
            name="migrator",
            description="Applies schema migrations at deploy, makes the first API key",
            environment={**self.database.administrator_environment(), **first_key.environment()},
            place=place,
        )
        self.database.grant_administer(migrator)
        first_key.grant_read(migrator)
        migrations = Migrations(self, "Migrations", settings=settings, migrator=migrator, migrations=sources.migrations)
        if isinstance(self.database, AuroraPostgres):
            # the instances, not only the cluster, must stand before the first connection
            migrations.node.add_dependency(self.database.cluster)
