"""Log groups with a retention, made explicitly so that none is left behind without one."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk.settings import StageSettings

_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


def log_group(
    scope: Construct, id: str, *, settings: StageSettings, name: str, root: str | None = None
) -> logs.LogGroup:
    """The log group `/hourbell/<stage>/<name>`, or `<root>/<name>`. It goes with its stack: a kept one would block the
    next deploy.

    Raises:
        KeyError: CloudWatch has no such retention.
    """
    return logs.LogGroup(
        scope,
        id,
        log_group_name=f"{root or f'/hourbell/{settings.name}'}/{name}",
        retention=_RETENTION[settings.log_retention_days],
        removal_policy=RemovalPolicy.DESTROY,
    )
