"""Keys and buckets."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

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


class ColdBucket(Construct):
    """The cold tier's bucket: versioned, encrypted, closed to plain HTTP and to the public."""

    def __init__(self, scope: Construct, id: str, *, settings: StageSettings, key: kms.IKey) -> None:
        super().__init__(scope, id)
        self._removal = RemovalPolicy.RETAIN if settings.keep_data else RemovalPolicy.DESTROY
        self.bucket = s3.Bucket(
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
