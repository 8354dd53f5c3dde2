"""Accepting a cdk-nag finding where it is caused, with the reason."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accept one finding on a construct and what it contains; `rule` as cdk-nag prints it, `[finding]` included."""
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
