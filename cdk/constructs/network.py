"""The VPC of a stage."""

from aws_cdk import Fn
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from cdk.constructs.logs import log_group
from cdk.constructs.place import Place, Places
from cdk.settings import NetworkSettings, StageSettings

ZONES = 3


class Network(Construct):
    """Isolated subnets for the database and most functions, subnets with a way out for the workers, over three zones.

    The zones are CloudFormation's `Fn::GetAZs`, so that synthesising asks no account for them.
    """

    def __init__(self, scope: Construct, id: str, *, stage: StageSettings, settings: NetworkSettings) -> None:
        super().__init__(scope, id)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(settings.cidr),
            availability_zones=[Fn.select(zone, Fn.get_azs()) for zone in range(ZONES)],
            nat_gateways=settings.nat_gateways,
            subnet_configuration=_subnets(settings),
            restrict_default_security_group=False,
        )
        # CloudFormation and the provider framework answer through S3, the cold tier lives there; gateways cost nothing.
        self.vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        flow_logs = log_group(self, "FlowLogs", settings=stage, name="vpc-flow-logs")
        self.vpc.add_flow_log("Flows", destination=ec2.FlowLogDestination.to_cloud_watch_logs(flow_logs))
        functions = ec2.SecurityGroup(self, "Functions", vpc=self.vpc, description="Hourbell functions")
        migrator = ec2.SecurityGroup(self, "Migrator", vpc=self.vpc, description="Hourbell migrator")
        self._endpoints(settings, functions, migrator)
        self.places = self._places(settings, functions, migrator)

    def _places(self, settings: NetworkSettings, functions: ec2.SecurityGroup, migrator: ec2.SecurityGroup) -> Places:
        isolated = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
        egress = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)
        inside = Place(vpc=self.vpc, subnets=isolated, security_group=functions)
        outbound = Place(vpc=self.vpc, subnets=egress, security_group=functions)
        schema = Place(vpc=self.vpc, subnets=isolated, security_group=migrator)
        return Places(inside=inside, outbound=outbound if settings.nat_gateways else inside, schema=schema)

    def _endpoints(self, settings: NetworkSettings, *callers: ec2.SecurityGroup) -> None:
        group = ec2.SecurityGroup(
            self, "Endpoints", vpc=self.vpc, description="Hourbell VPC endpoints", allow_all_outbound=False
        )
        for caller in callers:
            group.connections.allow_from(caller, ec2.Port.HTTPS, "Functions call AWS")
        for name in settings.endpoints:
            self.vpc.add_interface_endpoint(
                f"Endpoint-{name}",
                service=ec2.InterfaceVpcEndpointAwsService(name),
                subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
                security_groups=[group],
                open=False,
            )


def _subnets(settings: NetworkSettings) -> list[ec2.SubnetConfiguration]:
    isolated = ec2.SubnetConfiguration(name="Inside", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=20)
    if not settings.nat_gateways:
        return [isolated]
    egress = ec2.SubnetConfiguration(name="Outbound", subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS, cidr_mask=20)
    public = ec2.SubnetConfiguration(
        name="Gateways", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=28, map_public_ip_on_launch=False
    )
    return [isolated, egress, public]
