"""Where a function's code comes from, and where it runs."""

from dataclasses import dataclass
from pathlib import Path

from aws_cdk import aws_ec2 as ec2

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Folders that become Lambda assets."""

    functions: Path = _ROOT / "functions"
    layers: Path = _ROOT / ".hourbell" / "build" / "layers"
    migrations: Path = _ROOT / "layers" / "hourbell" / "python" / "hourbell" / "store" / "migrations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Subnets of a VPC and the security group that functions wear there."""

    vpc: ec2.IVpc
    subnets: ec2.SubnetSelection
    security_group: ec2.ISecurityGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """`outbound` has a way to the internet, for the workers, when the stage has NAT gateways; the others have none.

    `schema` is the migrator's, which alone reaches the database past its proxy.
    """

    inside: Place
    outbound: Place
    schema: Place
