"""The runtime every function shares."""

from aws_cdk import aws_lambda as lambda_

from cdk.settings import StageSettings

PYTHON = lambda_.Runtime.PYTHON_3_13


def architecture(settings: StageSettings) -> lambda_.Architecture:
    """The processor the stage's layers are built for."""
    return lambda_.Architecture.ARM_64 if settings.architecture == "arm64" else lambda_.Architecture.X86_64
