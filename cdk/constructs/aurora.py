"""Aurora PostgreSQL Serverless v2 behind RDS Proxy.

Functions reach the proxy with IAM tokens, each as its own database role, and the proxy reaches the cluster with IAM
too: there is no password but the master's, which RDS keeps and rotates, and only the migrator may read.
"""

from collections.abc import Mapping
from types import MappingProxyType

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_rds as rds
from constructs import Construct

from cdk.constructs.acknowledgement import acknowledge
from cdk.constructs.database import DatabaseRole
from cdk.constructs.function import HourbellFunction
from cdk.constructs.logs import log_group
from cdk.constructs.place import Place, Places
from cdk.settings import AuroraDatabase, StageSettings

DATABASE = "hourbell"
MASTER = "hourbell_master"
# The certificates of Amazon Linux 2023, which RDS Proxy's (Amazon Trust Services) chains to.
SYSTEM_CERTIFICATES = "/etc/pki/tls/certs/ca-bundle.crt"

PARAMETERS = MappingProxyType(
    {
        # Claiming leaves dead rows in the hot table: measured, it keeps its speed only with short naps between vacuums.
        "autovacuum_naptime": "5",
        # A frozen environment must not hold row locks: 60 s.
        "idle_in_transaction_session_timeout": "60000",
        "log_min_duration_statement": "1000",
        "rds.force_ssl": "1",
    }
)


class AuroraPostgres(Construct):
    """Writer, reader in another zone, proxy."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        stage: StageSettings,
        settings: AuroraDatabase,
        places: Places,
        key: kms.IKey,
    ) -> None:
        super().__init__(scope, id)
        self.cluster = self._cluster(stage, settings, places.inside, key)
        self.proxy = self._proxy(stage, places.inside)
        self.cluster.connections.allow_default_port_from(places.schema.security_group, "The migrator makes the roles")
        self.proxy.connections.allow_from(places.inside.security_group, ec2.Port.tcp(5432), "Functions")

    def _cluster(
        self, stage: StageSettings, settings: AuroraDatabase, place: Place, key: kms.IKey
    ) -> rds.DatabaseCluster:
        engine = rds.DatabaseClusterEngine.aurora_postgres(version=rds.AuroraPostgresEngineVersion.VER_16_13)
        identifier = stage.prefix
        exports = log_group(self, "Logs", settings=stage, name=f"cluster/{identifier}/postgresql", root="/aws/rds")
        cluster = rds.DatabaseCluster(
            self,
            "Cluster",
            engine=engine,
            cluster_identifier=identifier,
            default_database_name=DATABASE,
            credentials=rds.Credentials.from_username(MASTER),
            manage_master_user_password=True,
            writer=_instance("Writer", key),
            # In the writer's failover tier, so that it has the writer's size when it takes over.
            readers=[_instance("Reader", key, scale_with_writer=True)],
            serverless_v2_min_capacity=settings.minimum_acu,
            serverless_v2_max_capacity=settings.maximum_acu,
            parameter_group=rds.ParameterGroup(self, "Parameters", engine=engine, parameters=dict(PARAMETERS)),
            vpc=place.vpc,
            vpc_subnets=place.subnets,
            iam_authentication=True,
            storage_encryption_key=key,
            cloudwatch_logs_exports=["postgresql"],
            backup=rds.BackupProps(retention=Duration.days(settings.backup_days)),
            copy_tags_to_snapshot=True,
            deletion_protection=stage.keep_data,
            removal_policy=RemovalPolicy.SNAPSHOT,
        )
        cluster.node.add_dependency(exports)
        acknowledge(
            cluster,
            "AwsSolutions-RDS11",
            "Only the proxy's and the functions' security groups reach the cluster, in subnets without an internet "
            "route; another port than 5432 would add nothing.",
        )
        return cluster

    def _proxy(self, stage: StageSettings, place: Place) -> rds.DatabaseProxy:
        # End to end, the proxy too logs in with IAM, as whichever role its caller proved to be.
        role = iam.Role(self, "ProxyRole", assumed_by=iam.ServicePrincipal("rds.amazonaws.com"))
        for database_role in DatabaseRole:
            self.cluster.grant_connect(role, database_role)
        return self.cluster.add_proxy(
            "Proxy",
            role=role,
            vpc=place.vpc,
            vpc_subnets=place.subnets,
            db_proxy_name=stage.prefix,
            default_auth_scheme=rds.DefaultAuthScheme.IAM_AUTH,
            require_tls=True,
            borrow_timeout=Duration.seconds(10),
            max_connections_percent=90,
        )

    def environment(self, role: DatabaseRole) -> Mapping[str, str]:
        """Through the proxy, verified, as this role."""
        conninfo = (
            f"host={self.proxy.endpoint} port=5432 dbname={DATABASE} user={role} "
            f"sslmode=verify-full sslrootcert={SYSTEM_CERTIFICATES}"
        )
        return {"HOURBELL_DATABASE": conninfo, "HOURBELL_DATABASE_AUTH": "iam"}

    def administrator_environment(self) -> Mapping[str, str]:
        """Straight to the cluster, since the proxy lets nobody in before the roles exist.

        As the owner of the schema; as the master where a role is missing.

        Encrypted, not verified: RDS's own authority is not among the system's, and the way stays inside the VPC.
        """
        host = self.cluster.cluster_endpoint.hostname
        conninfo = f"host={host} port=5432 dbname={DATABASE} sslmode=require user="
        return {
            "HOURBELL_DATABASE": f"{conninfo}{DatabaseRole.MIGRATOR}",
            "HOURBELL_DATABASE_AUTH": "iam",
            "HOURBELL_ADMINISTRATOR": f"{conninfo}{MASTER}",
            "HOURBELL_ADMINISTRATOR_SECRET": self._master_secret_arn,
        }

    @property
    def _master_secret_arn(self) -> str:
        secret = self.cluster.secret
        assert secret is not None, "manage_master_user_password makes a secret"  # noqa: S101
        return secret.secret_arn

    def grant_connect(self, function: HourbellFunction, role: DatabaseRole) -> None:
        """rds-db:connect to the proxy as this database role, and no other."""
        self.proxy.grant_connect(function.role, role)

    def grant_administer(self, function: HourbellFunction) -> None:
        """Connect to the cluster as the owner of the schema; read the master's password."""
        self.cluster.grant_connect(function.role, DatabaseRole.MIGRATOR)
        function.role.add_to_policy(
            iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[self._master_secret_arn])
        )


def _instance(id: str, key: kms.IKey, *, scale_with_writer: bool = False) -> rds.IClusterInstance:
    return rds.ClusterInstance.serverless_v2(
        id,
        scale_with_writer=scale_with_writer,
        enable_performance_insights=True,
        performance_insight_encryption_key=key,
    )
