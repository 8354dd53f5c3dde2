"""Secrets: the stage's signing key and first API key, and those that targets bring."""

import string
from collections.abc import Mapping

from aws_cdk import ArnFormat, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from cdk.constructs.acknowledgement import acknowledge
from cdk.constructs.function import HourbellFunction


class SigningKey(Construct):
    """A random key that Secrets Manager makes and keeps; no template or log ever holds it."""

    def __init__(self, scope: Construct, id: str, *, keep: bool) -> None:
        super().__init__(scope, id)
        self._secret = secretsmanager.Secret(
            self,
            "Secret",
            description="Hourbell signs calls to targets and list cursors with this key",
            generate_secret_string=secretsmanager.SecretStringGenerator(password_length=64, exclude_punctuation=True),
            removal_policy=RemovalPolicy.RETAIN if keep else RemovalPolicy.DESTROY,
        )
        acknowledge(
            self._secret,
            "AwsSolutions-SMG4",
            "Receivers verify signatures with this key: replacing it takes a step of theirs, so it has no schedule.",
        )

    def environment(self) -> Mapping[str, str]:
        """What a function that signs is told: where the key is, never the key."""
        return {"HOURBELL_SIGNING_SECRET": self._secret.secret_arn}

    def grant_sign(self, function: HourbellFunction) -> None:
        """Let the function read the key."""
        statement = iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[self._secret.secret_arn])
        function.role.add_to_policy(statement)


class FirstKey(Construct):
    """What the first API key is made of: a random text, which Secrets Manager makes; `hb_live_` before it is the key.

    Operators delete the secret `hourbell/<stage>/first-key` once they have keys of their own. It must therefore never
    change here: CloudFormation would find nothing to update, and the deploy would fail.
    """

    def __init__(self, scope: Construct, id: str, *, stage: str) -> None:
        super().__init__(scope, id)
        self._secret = secretsmanager.Secret(
            self,
            "Secret",
            secret_name=f"hourbell/{stage}/first-key",
            description="Hourbell: the first API key is hb_live_ and this",
            # Letters and digits, said in both ways: emulators know only the second.
            generate_secret_string=secretsmanager.SecretStringGenerator(
                password_length=48, exclude_punctuation=True, exclude_characters=string.punctuation
            ),
            # A key of nothing, once the database is gone; its name would stand in the way of the next deployment.
            removal_policy=RemovalPolicy.DESTROY,
        )
        acknowledge(
            self._secret,
            "AwsSolutions-SMG4",
            "Read once, at the first deploy; only its hash is kept, so a rotated value would be no key.",
        )

    def environment(self) -> Mapping[str, str]:
        """What the migrator is told: where the value is, never the value."""
        return {"HOURBELL_FIRST_KEY_SECRET": self._secret.secret_arn}

    def grant_read(self, function: HourbellFunction) -> None:
        """Let the function read the value."""
        statement = iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[self._secret.secret_arn])
        function.role.add_to_policy(statement)


def grant_read_target_secrets(function: HourbellFunction, *, stage: str) -> None:
    """Let the function read the secrets that targets name, which must be called `hourbell/<stage>/targets/…`."""
    arn = Stack.of(function).format_arn(
        service="secretsmanager",
        resource="secret",
        resource_name=f"hourbell/{stage}/targets/*",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    function.role.add_to_policy(iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[arn]))
    acknowledge(
        function.role,
        "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:"
        f"secret:hourbell/{stage}/targets/*]",
        "secretsmanager:GetSecretValue on the secrets of targets, which come and go: the prefix is the bound.",
    )
