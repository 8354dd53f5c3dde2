"""Alarms and the topic they speak to."""

from collections.abc import Sequence

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

_CLOUDWATCH = "cloudwatch.amazonaws.com"


class AlarmTopic(Construct):
    """An encrypted topic that CloudWatch alarms of this account may publish to."""

    def __init__(self, scope: Construct, id: str, *, prefix: str, emails: Sequence[str]) -> None:
        super().__init__(scope, id)
        key = kms.Key(
            self,
            "Key",
            description=f"{prefix}: alarm messages",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        # An alarm publishes to an encrypted topic only when the key lets CloudWatch use it (SNS developer guide,
        # "Enable compatibility between event sources from AWS services and encrypted topics").
        key.add_to_resource_policy(_for_alarms(["kms:Decrypt", "kms:GenerateDataKey*"], resource="*"))
        self.topic = sns.Topic(self, "Topic", topic_name=f"{prefix}-alarms", master_key=key, enforce_ssl=True)
        # Enforcing TLS replaces the topic's default policy, which had let alarms in.
        self.topic.add_to_resource_policy(_for_alarms(["sns:Publish"], resource=self.topic.topic_arn))
        for email in emails:
            self.topic.add_subscription(subscriptions.EmailSubscription(email))


def _for_alarms(allowed: list[str], *, resource: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        principals=[iam.ServicePrincipal(_CLOUDWATCH)],
        actions=allowed,
        resources=[resource],
        conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
    )


class Alarms(Construct):
    """Raises alarms that speak to one topic, both when they begin and when they end."""

    def __init__(self, scope: Construct, id: str, *, prefix: str, topic: sns.ITopic) -> None:
        super().__init__(scope, id)
        self._prefix = prefix
        self._action = actions.SnsAction(topic)
        self.raised: list[cloudwatch.Alarm] = []

    def above(
        self, name: str, metric: cloudwatch.IMetric, threshold: float, *, description: str, periods: int = 1
    ) -> None:
        """Alarm when the metric exceeds the threshold for all of the last `periods`; silence is fine."""
        self._raise(
            name,
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=description,
            evaluation_periods=periods,
        )

    def below(
        self, name: str, metric: cloudwatch.IMetric, threshold: float, *, description: str, periods: int = 1
    ) -> None:
        """Alarm when the metric stays below the threshold for all of the last `periods`; silence counts as below."""
        self._raise(
            name,
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.BREACHING,
            alarm_description=description,
            evaluation_periods=periods,
        )

    def _raise(
        self,
        name: str,
        *,
        metric: cloudwatch.IMetric,
        threshold: float,
        comparison_operator: cloudwatch.ComparisonOperator,
        treat_missing_data: cloudwatch.TreatMissingData,
        alarm_description: str,
        evaluation_periods: int,
    ) -> None:
        alarm = cloudwatch.Alarm(
            self,
            name,
            alarm_name=f"{self._prefix}-{name}",
            metric=metric,
            threshold=threshold,
            comparison_operator=comparison_operator,
            treat_missing_data=treat_missing_data,
            alarm_description=alarm_description,
            evaluation_periods=evaluation_periods,
        )
        alarm.add_alarm_action(self._action)
        alarm.add_ok_action(self._action)
        self.raised.append(alarm)
