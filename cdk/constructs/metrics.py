"""The metrics that alarms and dashboard read, by name: no stack is tied to another by looking at it."""

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from cdk.settings import StageSettings

MINUTE = Duration.minutes(1)
FIVE_MINUTES = Duration.minutes(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Metrics of one stage."""

    settings: StageSettings

    def own(self, name: str, statistic: str, period: Duration = MINUTE) -> cloudwatch.Metric:
        """A metric that the functions emit (namespace Hourbell, dimension Stage)."""
        return _metric("Hourbell", name, {"Stage": self.settings.name}, statistic, period)

    def lane(self, lane: str, name: str, statistic: str = "Maximum") -> cloudwatch.Metric:
        """A metric of a lane; `shared-dead` and `solo-dead` are the dead-letter queues."""
        return _metric("AWS/SQS", name, {"QueueName": f"{self.settings.prefix}-{lane}"}, statistic, MINUTE)

    def function(self, function: str, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        """A metric of a function."""
        dimensions = {"FunctionName": f"{self.settings.prefix}-{function}"}
        return _metric("AWS/Lambda", name, dimensions, statistic, MINUTE)

    def api(self, api_id: str, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        """A metric of the HTTP API."""
        return _metric("AWS/ApiGateway", name, {"ApiId": api_id}, statistic, MINUTE)

    def cluster(self, name: str, statistic: str = "Maximum") -> cloudwatch.Metric:
        """A metric of the Aurora cluster."""
        dimensions = {"DBClusterIdentifier": self.settings.prefix}
        return _metric("AWS/RDS", name, dimensions, statistic, FIVE_MINUTES)

    def proxy(self, name: str, statistic: str) -> cloudwatch.Metric:
        """A metric of RDS Proxy."""
        return _metric("AWS/RDS", name, {"ProxyName": self.settings.prefix}, statistic, FIVE_MINUTES)


def _metric(
    namespace: str, name: str, dimensions: dict[str, str], statistic: str, period: Duration
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace, metric_name=name, dimensions_map=dimensions, statistic=statistic, period=period
    )
