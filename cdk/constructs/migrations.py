"""Migrates the schema at deploy, before any other function changes."""

import hashlib
from pathlib import Path
from typing import cast

from aws_cdk import CfnElement, CustomResource, Stack, custom_resources
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk.constructs.acknowledgement import acknowledge
from cdk.constructs.function import HourbellFunction
from cdk.constructs.logs import log_group
from cdk.settings import StageSettings


def fingerprint(migrations: Path) -> str:
    """A hash over the migration files, so that CloudFormation sees when there is something to apply."""
    digest = hashlib.sha256()
    for file in sorted(migrations.glob("*.sql")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


class Migrations(Construct):
    """A custom resource that runs the migrator whenever the migration files change.

    A failed migration fails the deploy, and CloudFormation leaves the functions as they were: the stacks that hold them
    depend on this one.
    """

    def __init__(
        self, scope: Construct, id: str, *, settings: StageSettings, migrator: HourbellFunction, migrations: Path
    ) -> None:
        super().__init__(scope, id)
        group = log_group(self, "Logs", settings=settings, name="migrator-provider")
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group.grant_write(role)
        provider = custom_resources.Provider(
            self, "Provider", on_event_handler=migrator.function, framework_on_event_role=role, log_group=group
        )
        function = cast(CfnElement, migrator.function.node.default_child)
        acknowledge(
            role,
            f"AwsSolutions-IAM5[Resource::<{Stack.of(self).get_logical_id(function)}.Arn>:*]",
            "The CDK's provider framework may invoke the migrator, whatever its version.",
        )
        acknowledge(provider, "AwsSolutions-L1", "The CDK chooses the runtime of its own provider function.")
        properties = {"Migrations": fingerprint(migrations)}
        CustomResource(
            self,
            "Schema",
            service_token=provider.service_token,
            resource_type="Custom::HourbellSchema",
            properties=properties,
        )
