"""One Lambda function with its role, its log group and, where the stage asks for it, a warm alias."""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from cdk.constructs.acknowledgement import acknowledge
from cdk.constructs.layers import Layers
from cdk.constructs.logs import log_group
from cdk.constructs.place import Place, Sources
from cdk.constructs.runtime import PYTHON, architecture
from cdk.settings import StageSettings

# What Lambda itself does with the role to place a function in a VPC (Lambda developer guide).
NETWORK_INTERFACE_ACTIONS = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
)
# The alias of functions that are kept warm.
LIVE = "live"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What the functions of one stack have in common."""

    settings: StageSettings
    sources: Sources
    layers: Layers


class HourbellFunction(Construct):
    """`functions/<folder>/handler.py` as the Lambda `hourbell-<stage>-<name>`.

    `entry` is what callers invoke: the alias `live` when the stage keeps environments warm (SnapStart and provisioned
    concurrency belong to published versions), else the function.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        workshop: Workshop,
        name: str,
        description: str,
        environment: Mapping[str, str],
        place: Place | None,
        folder: str | None = None,
    ) -> None:
        super().__init__(scope, id)
        settings = workshop.settings
        self.full_name = f"{settings.prefix}-{name}"
        self.size = settings.functions[name]
        group = log_group(self, "Logs", settings=settings, name=name)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group.grant_write(self.role)
        if place is not None:
            self._grant_network_interfaces()
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=self.full_name,
            description=description,
            code=lambda_.Code.from_asset(
                str(workshop.sources.functions / (folder or name)), exclude=["**/__pycache__", "**/*.pyc"]
            ),
            handler="handler.handler",
            runtime=PYTHON,
            architecture=architecture(settings),
            memory_size=self.size.memory_mb,
            timeout=Duration.seconds(self.size.timeout_seconds),
            layers=workshop.layers.versions,
            # System zone data would shadow the pinned tzdata package.
            environment={"HOURBELL_STAGE": settings.name, "PYTHONTZPATH": "", **environment},
            role=self.role,
            log_group=group,
            logging_format=lambda_.LoggingFormat.JSON,
            tracing=lambda_.Tracing.ACTIVE if settings.tracing else lambda_.Tracing.DISABLED,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if self.size.snap_start else None,
            vpc=place.vpc if place else None,
            vpc_subnets=place.subnets if place else None,
            security_groups=[place.security_group] if place else None,
        )
        acknowledge(
            self.function,
            "AwsSolutions-L1",
            "The layers carry wheels and bytecode for one Python version: runtime and layers change in one commit.",
        )
        if settings.tracing:
            acknowledge(self.role, "AwsSolutions-IAM5[Resource::*]", "xray:PutTraceSegments takes no resource.")
        warm = self.size.snap_start or self.size.provisioned > 0
        self.qualifier: str | None = LIVE if warm else None
        self.entry: lambda_.IFunction = self._warm_alias() if warm else self.function

    def _warm_alias(self) -> lambda_.Alias:
        acknowledge(
            self.function,
            "Annotation::@aws-cdk/aws-lambda:snapStartRequirePublish",
            "Callers invoke the alias of the published version.",
        )
        return lambda_.Alias(
            self,
            "Live",
            alias_name=LIVE,
            version=self.function.current_version,
            provisioned_concurrent_executions=self.size.provisioned or None,
        )

    def _grant_network_interfaces(self) -> None:
        """Let Lambda attach the function to its subnets, and keep the function's own code from doing the same."""
        own_arn = Stack.of(self).format_arn(
            service="lambda",
            resource="function",
            resource_name=self.full_name,
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        actions = [*NETWORK_INTERFACE_ACTIONS]
        self.role.add_to_policy(iam.PolicyStatement(actions=actions, resources=["*"]))
        self.role.add_to_policy(
            iam.PolicyStatement(
                effect=iam.Effect.DENY,
                actions=actions,
                resources=["*"],
                conditions={"ArnEquals": {"lambda:SourceFunctionArn": own_arn}},
            )
        )
        acknowledge(
            self.role,
            "AwsSolutions-IAM5[Resource::*]",
            "ec2:CreateNetworkInterface and its siblings, with which Lambda places the function in the VPC, take no "
            "narrower resource; a deny on lambda:SourceFunctionArn keeps the function's own code from using them.",
        )
