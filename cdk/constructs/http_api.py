"""The HTTP API: API Gateway in front of the api function, keys checked by the authorizer function."""

import json

import jsii
from aws_cdk import Duration
from aws_cdk import aws_apigateway as access_logs
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk.constructs.acknowledgement import acknowledge
from cdk.constructs.function import HourbellFunction
from cdk.constructs.logs import log_group
from cdk.settings import StageSettings

# What anyone may read; everything else needs a key.
OPEN_ROUTES = ("/v1/health", "/openapi.json", "/docs", "/console")
ACCESS_LOG_FIELDS = {
    "request_id": "$context.requestId",
    "requested_at": "$context.requestTime",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "status": "$context.status",
    "latency_ms": "$context.responseLatency",
    "source_ip": "$context.identity.sourceIp",
    "tenant": "$context.authorizer.tenant_id",
    "error": "$context.error.message",
}


@jsii.implements(apigateway.IAccessLogSettings)
class _AccessLog:
    """One JSON line per request."""

    def __init__(self, group: logs.ILogGroup) -> None:
        self._group = group

    @property
    def destination(self) -> apigateway.IAccessLogDestination:
        return apigateway.LogGroupLogDestination(self._group)

    @property
    def format(self) -> access_logs.AccessLogFormat:
        return access_logs.AccessLogFormat.custom(json.dumps(ACCESS_LOG_FIELDS))


def _cors(settings: StageSettings) -> apigateway.CorsPreflightOptions | None:
    """What browsers may do on pages of the stage's origins; without any, no page may call the API."""
    if not settings.api.cors_origins:
        return None
    return apigateway.CorsPreflightOptions(
        allow_origins=list(settings.api.cors_origins),
        allow_methods=[apigateway.CorsHttpMethod.ANY],
        allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match"],
        expose_headers=["ETag", "Idempotency-Replayed", "Retry-After"],
        max_age=Duration.hours(1),
    )


class HttpApi(Construct):
    """An HTTP API with one `$default` stage. A request without an Authorization header is API Gateway's own 401."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: StageSettings,
        api: HourbellFunction,
        authorizer: HourbellFunction,
    ) -> None:
        super().__init__(scope, id)
        self._http = apigateway.HttpApi(
            self, "Http", api_name=settings.prefix, create_default_stage=False, cors_preflight=_cors(settings)
        )
        self._integration = integrations.HttpLambdaIntegration(
            "Api",
            api.entry,
            payload_format_version=apigateway.PayloadFormatVersion.VERSION_2_0,
            scope_permission_to_route=False,
        )
        self._open_routes()
        self._keyed_routes(settings, authorizer)
        self._stage(settings)

    @property
    def url(self) -> str:
        """Where the API answers, without a slash at the end."""
        return self._http.api_endpoint

    @property
    def api_id(self) -> str:
        """API Gateway's id of the API."""
        return self._http.api_id

    def _open_routes(self) -> None:
        for path in OPEN_ROUTES:
            routes = self._http.add_routes(
                path=path, methods=[apigateway.HttpMethod.GET], integration=self._integration
            )
            for route in routes:
                acknowledge(
                    route, "AwsSolutions-APIG4", f"GET {path} is public by contract and reveals no tenant's data."
                )

    def _keyed_routes(self, settings: StageSettings, authorizer: HourbellFunction) -> None:
        keys = authorizers.HttpLambdaAuthorizer(
            "Keys",
            authorizer.entry,
            authorizer_name=f"{settings.prefix}-keys",
            response_types=[authorizers.HttpLambdaResponseType.SIMPLE],
            identity_source=["$request.header.Authorization"],
            results_cache_ttl=Duration.seconds(settings.api.authorizer_cache_seconds),
        )
        self._http.add_routes(
            path="/{proxy+}", methods=[apigateway.HttpMethod.ANY], integration=self._integration, authorizer=keys
        )

    def _stage(self, settings: StageSettings) -> None:
        group = log_group(self, "AccessLogs", settings=settings, name="api-access")
        self._http.add_stage(
            "DefaultStage",
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(
                rate_limit=settings.api.requests_per_second, burst_limit=settings.api.burst
            ),
            access_log_settings=_AccessLog(group),
        )
