"""Keys and buckets."""

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk.constructs.acknowledgement import acknowledge
from cdk.constructs.function import HourbellFunction
from cdk.settings import StageSettings


def data_key(scope: Construct, id: str, *, settings: StageSettings) -> kms.Key:
    """The customer-managed key of everything Hourbell keeps: the cluster and the cold tier."""
    return kms.Key(
        scope,
        id,
        alias=f"alias/{settings.prefix}-data",
        description=f"Hourbell {settings.name}: database and cold tier",
        enable_key_rotation=True,
        removal_policy=RemovalPolicy.RETAIN if settings.keep_data else RemovalPolicy.DESTROY,
    )


# Every object of the cold tier: hourbell/cold/segment.py
SEGMENTS = "cold/*"


class ColdBucket(Construct):
    """The cold tier's bucket: versioned, encrypted, closed to plain HTTP and to the public; or one that is there."""

    def __init__(self, scope: Construct, id: str, *, settings: StageSettings, key: kms.IKey) -> None:
        super().__init__(scope, id)
        self._key = key
        self._own_name = settings.own_cold_bucket
        self._removal = RemovalPolicy.RETAIN if settings.keep_data else RemovalPolicy.DESTROY
        self.bucket: s3.IBucket = (
            s3.Bucket.from_bucket_name(self, "Bucket", self._own_name) if self._own_name else self._make(key)
        )

    def _make(self, key: kms.IKey) -> s3.Bucket:
        return s3.Bucket(
            self,
            "Bucket",
            versioned=True,
            encryption=s3.BucketEncryption.KMS,
            encryption_key=key,
            # one data key per bucket and hour instead of one KMS call per object
            bucket_key_enabled=True,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            removal_policy=self._removal,
            server_access_logs_bucket=self._access_logs(),
            lifecycle_rules=[
                s3.LifecycleRule(
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                    noncurrent_version_expiration=Duration.days(30),
                    expired_object_delete_marker=True,
                )
            ],
        )

    def environment(self) -> Mapping[str, str]:
        """What those who read or write segments are told."""
        return {"HOURBELL_COLD_BUCKET": self.bucket.bucket_name}

    def grant_read(self, function: HourbellFunction) -> None:
        """Read segments, in the version that the catalogue names; be told of a missing one that it is missing."""
        self._grant(function, ["s3:GetObject", "s3:GetObjectVersion"], ["kms:Decrypt"])

    def grant_keep(self, function: HourbellFunction) -> None:
        """Write, read and delete segments. Deleting leaves their versions, which nobody but the lifecycle removes."""
        actions = ["s3:DeleteObject", "s3:GetObject", "s3:GetObjectVersion", "s3:PutObject"]
        self._grant(function, actions, ["kms:Decrypt", "kms:GenerateDataKey"])

    def _grant(self, function: HourbellFunction, actions: list[str], key_actions: list[str]) -> None:
        statements = (
            (actions, self.bucket.arn_for_objects(SEGMENTS)),
            # Without it S3 answers 403 instead of 404 (S3 API reference, GetObject, "Permissions").
            (["s3:ListBucket"], self.bucket.bucket_arn),
            (key_actions, self._key.key_arn),
        )
        for allowed, resource in statements:
            function.role.add_to_policy(iam.PolicyStatement(actions=allowed, resources=[resource]))
        acknowledge(
            function.role,
            f"AwsSolutions-IAM5[Resource::{self._arn_in_findings()}/{SEGMENTS}]",
            "Segments are named after their hour and their jobs: all of the cold tier's objects, and no others.",
        )

    def _arn_in_findings(self) -> str:
        """As the stacks of the functions name it."""
        if self._own_name:
            return f"arn:<AWS::Partition>:s3:::{self._own_name}"
        stack = Stack.of(self)
        imported: dict[str, str] = stack.resolve(stack.export_value(self.bucket.bucket_arn))
        return imported["Fn::ImportValue"]

    def _access_logs(self) -> s3.Bucket:
        return s3.Bucket(
            self,
            "AccessLogs",
            # S3 delivers access logs only to buckets with its own keys (S3 user guide, server access logging).
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            removal_policy=self._removal,
            lifecycle_rules=[s3.LifecycleRule(expiration=Duration.days(90))],
        )
