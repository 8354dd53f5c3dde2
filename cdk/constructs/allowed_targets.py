"""The AWS resources that targets may name: what the API and the workers are told, and what the workers may do."""

from collections.abc import Mapping, Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from cdk.constructs.acknowledgement import acknowledge
from cdk.constructs.function import HourbellFunction
from cdk.settings import StageSettings

# The one thing that a worker does with a resource of each service.
CALLS: Mapping[str, str] = {
    "events": "events:PutEvents",
    "lambda": "lambda:InvokeFunction",
    "sns": "sns:Publish",
    "sqs": "sqs:SendMessage",
    "states": "states:StartExecution",
}


def allowed_targets_environment(stack: Stack, *, settings: StageSettings) -> Mapping[str, str]:
    """What a function that checks or calls targets is told."""
    return {"HOURBELL_ALLOWED_TARGETS": " ".join(_arns(stack, settings.allowed_targets))}


def grant_call_targets(function: HourbellFunction, *, settings: StageSettings) -> None:
    """Let the function call what the stage's list matches, and nothing else."""
    stack = Stack.of(function)
    for service, action in CALLS.items():
        patterns = [pattern for pattern in settings.allowed_targets if pattern.split(":")[2] == service]
        if not patterns:
            continue
        statement = iam.PolicyStatement(actions=[action], resources=_arns(stack, patterns))
        function.role.add_to_policy(statement)
        for pattern in patterns:
            _acknowledge_wildcard(function, action, pattern)


def _arns(stack: Stack, patterns: Sequence[str]) -> list[str]:
    return [
        pattern.format(partition=stack.partition, region=stack.region, account=stack.account) for pattern in patterns
    ]


def _acknowledge_wildcard(function: HourbellFunction, action: str, pattern: str) -> None:
    if "*" not in pattern:
        return
    shown = pattern.format(partition="<AWS::Partition>", region="<AWS::Region>", account="<AWS::AccountId>")
    acknowledge(
        function.role,
        f"AwsSolutions-IAM5[Resource::{shown}]",
        f"{action} on the targets that the stage allows: its settings say how wide that is.",
    )
