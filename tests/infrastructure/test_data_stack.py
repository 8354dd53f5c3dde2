"""What is kept, and how the schema gets there first."""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest
from hourbell.services.first_key import first_key

from cdk.constructs.migrations import fingerprint
from cdk.constructs.place import Sources
from cdk.settings import StageError, StageSettings, stage_settings
from tests.infrastructure.templates import Assembly, Resource


def first_key_secret(assembly: Assembly) -> Resource:
    (secret,) = [resource for resource in assembly.of_type("AWS::SecretsManager::Secret") if "FirstKey" in resource.id]
    return secret


def test_the_migrator_runs_again_when_a_migration_is_added(tmp_path: Path) -> None:
    (tmp_path / "0001_core.sql").write_text("create table job ();")
    before = fingerprint(tmp_path)
    (tmp_path / "0002_more.sql").write_text("create table run ();")
    assert fingerprint(tmp_path) != before


def test_the_schemas_resource_carries_the_fingerprint_of_the_migrations(assembly: Assembly, sources: Sources) -> None:
    assert assembly.only("Custom::HourbellSchema").properties["Migrations"] == fingerprint(sources.migrations)


def test_functions_change_after_the_schema(assembly: Assembly, settings: StageSettings) -> None:
    artifacts = json.loads((assembly.folder / "manifest.json").read_text())["artifacts"]
    for stack in ("Pipeline", "Api"):
        assert f"Hourbell-{settings.name}-Data" in artifacts[f"Hourbell-{settings.name}-{stack}"]["dependencies"]


def test_the_migrator_waits_for_the_databases_instances(prod: Assembly) -> None:
    waits_for = prod.only("Custom::HourbellSchema").body["DependsOn"]
    instances = {resource.id for resource in prod.of_type("AWS::RDS::DBInstance")}
    assert len(instances) == 2
    assert instances <= set(waits_for)


def test_the_cluster_is_encrypted_backed_up_and_guarded(prod: Assembly) -> None:
    cluster = prod.only("AWS::RDS::DBCluster")
    assert cluster.properties["EngineVersion"].startswith("16.")
    assert cluster.properties["StorageEncrypted"] is True
    assert prod.text(cluster.properties["KmsKeyId"]) == "Key.Arn"
    assert cluster.properties["EnableIAMDatabaseAuthentication"] is True
    assert cluster.properties["ManageMasterUserPassword"] is True
    assert cluster.properties["DeletionProtection"] is True
    assert cluster.properties["BackupRetentionPeriod"] >= 7
    assert cluster.body["DeletionPolicy"] == "Snapshot"


def test_the_clusters_parameters_keep_the_hot_table_fast(prod: Assembly) -> None:
    parameters = prod.only("AWS::RDS::DBClusterParameterGroup").properties["Parameters"]
    assert parameters["autovacuum_naptime"] == "5"
    assert parameters["idle_in_transaction_session_timeout"] == "60000"
    assert parameters["rds.force_ssl"] == "1"


def test_the_proxy_takes_iam_logins_over_tls_and_keeps_no_secret(prod: Assembly) -> None:
    proxy = prod.only("AWS::RDS::DBProxy").properties
    assert proxy["DefaultAuthScheme"] == "IAM_AUTH"
    assert proxy["RequireTLS"] is True
    assert "Auth" not in proxy


def test_only_the_proxy_and_the_migrator_reach_the_cluster(prod: Assembly) -> None:
    sources = {
        prod.text(rule.properties["SourceSecurityGroupId"])
        for rule in prod.of_type("AWS::EC2::SecurityGroupIngress")
        if prod.text(rule.properties["GroupId"]).startswith("AuroraClusterSecurityGroup")
    }
    assert sources == {"AuroraClusterProxyProxySecurityGroup.GroupId", "NetworkMigrator.GroupId"}


def test_no_security_group_is_open_to_the_world(prod: Assembly) -> None:
    for group in prod.of_type("AWS::EC2::SecurityGroup"):
        assert "SecurityGroupIngress" not in group.properties, group.id


def test_the_cold_bucket_is_versioned_encrypted_private_and_outlives_its_stack(prod: Assembly) -> None:
    (bucket,) = [resource for resource in prod.of_type("AWS::S3::Bucket") if resource.name == "ColdBucket"]
    rules = bucket.properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rules[0]["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    assert bucket.properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert set(bucket.properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket.properties["LifecycleConfiguration"]["Rules"]
    assert bucket.body["DeletionPolicy"] == "Retain"


def test_the_first_keys_secret_never_changes_since_its_users_delete_it(
    assembly: Assembly, settings: StageSettings
) -> None:
    """CloudFormation would fail to update a secret that is gone, and with it the deploy."""
    secret = first_key_secret(assembly)
    assert secret.properties == {
        "Name": f"hourbell/{settings.name}/first-key",
        "Description": "Hourbell: the first API key is hb_live_ and this",
        "GenerateSecretString": {
            "PasswordLength": 48,
            "ExcludePunctuation": True,
            "ExcludeCharacters": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
        },
        "Tags": [{"Key": "application", "Value": "hourbell"}, {"Key": "stage", "Value": settings.name}],
    }


def test_what_the_first_keys_secret_generates_is_the_rest_of_a_key(assembly: Assembly) -> None:
    rules = first_key_secret(assembly).properties["GenerateSecretString"]
    left = set(string.ascii_letters + string.digits + string.punctuation) - set(rules["ExcludeCharacters"])
    assert left == set(string.ascii_letters + string.digits)
    value = "".join(sorted(left))[: rules["PasswordLength"]]
    assert first_key(value) == f"hb_live_{value}"


def test_a_deployment_after_this_one_finds_the_first_keys_name_free(prod: Assembly) -> None:
    assert first_key_secret(prod).body["DeletionPolicy"] == "Delete"


def test_the_network_spans_three_zones_without_asking_which(prod: Assembly) -> None:
    zones = {json.dumps(subnet.properties["AvailabilityZone"]) for subnet in prod.of_type("AWS::EC2::Subnet")}
    assert zones == {json.dumps({"Fn::Select": [zone, {"Fn::GetAZs": ""}]}) for zone in range(3)}


def test_a_laptop_needs_no_network_and_no_database_of_awss(local: Assembly) -> None:
    assert set(local.templates) == {"Data", "Pipeline", "Api", "Observability"}
    assert not [resource for resource in local.resources if resource.type.startswith(("AWS::EC2::", "AWS::RDS::"))]


def test_the_conninfo_of_a_database_of_your_own_comes_from_context() -> None:
    settings = stage_settings("local", database="host=/tmp/socket dbname=bell user={role}")
    assert settings.database == type(settings.database)(conninfo="host=/tmp/socket dbname=bell user={role}")


@pytest.mark.parametrize("conninfo", ["host=here user=me", "host=here user={role} password=secret"])
def test_a_conninfo_without_a_role_or_with_a_password_is_refused(conninfo: str) -> None:
    with pytest.raises(StageError):
        stage_settings("local", database=conninfo)


def test_a_stage_with_its_own_cluster_takes_no_conninfo() -> None:
    with pytest.raises(StageError, match="database of its own"):
        stage_settings("prod", database="host=here user={role}")


def test_an_unknown_stage_is_refused_by_name() -> None:
    with pytest.raises(StageError, match="no stage 'staging'"):
        stage_settings("staging")
