"""The HTTP API's routes and its authorizer."""

from __future__ import annotations

from dataclasses import replace

from cdk.settings import PROD, StageSettings
from tests.infrastructure.templates import Assembly, Synthesise


def test_health_and_documentation_are_open_and_everything_else_needs_a_key(assembly: Assembly) -> None:
    routes = {route.properties["RouteKey"]: route.properties for route in assembly.of_type("AWS::ApiGatewayV2::Route")}
    open_routes = {key for key, route in routes.items() if route["AuthorizationType"] == "NONE"}
    assert open_routes == {"GET /v1/health", "GET /openapi.json", "GET /docs", "GET /console"}
    assert set(routes) - open_routes == {"ANY /{proxy+}"}
    assert routes["ANY /{proxy+}"]["AuthorizationType"] == "CUSTOM"


def test_the_authorizer_answers_simply_and_its_answers_end_within_a_minute(
    assembly: Assembly, settings: StageSettings
) -> None:
    authorizer = assembly.only("AWS::ApiGatewayV2::Authorizer").properties
    assert authorizer["EnableSimpleResponses"] is True
    assert authorizer["AuthorizerPayloadFormatVersion"] == "2.0"
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["AuthorizerResultTtlInSeconds"] == settings.api.authorizer_cache_seconds <= 60


def test_the_integration_speaks_payload_format_2(assembly: Assembly) -> None:
    assert assembly.only("AWS::ApiGatewayV2::Integration").properties["PayloadFormatVersion"] == "2.0"


def test_requests_are_logged_and_throttled(assembly: Assembly, settings: StageSettings) -> None:
    stage = assembly.only("AWS::ApiGatewayV2::Stage").properties
    assert stage["StageName"] == "$default"
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == settings.api.requests_per_second
    assert stage["DefaultRouteSettings"]["ThrottlingBurstLimit"] == settings.api.burst
    assert "authorization" not in stage["AccessLogSettings"]["Format"].lower()


def test_the_stack_tells_where_the_api_is(assembly: Assembly) -> None:
    assert {"ApiUrl", "ApiId"} <= set(assembly.templates["Api"]["Outputs"])


def test_no_page_may_call_the_api_from_a_browser_unless_the_stage_names_its_origin(
    assembly: Assembly, synthesise: Synthesise
) -> None:
    assert "CorsConfiguration" not in assembly.only("AWS::ApiGatewayV2::Api").properties

    origin = "https://console.example.com"
    opened = synthesise(replace(PROD, api=replace(PROD.api, cors_origins=(origin,))))

    cors = opened.only("AWS::ApiGatewayV2::Api").properties["CorsConfiguration"]
    assert cors["AllowOrigins"] == [origin]
    assert "Idempotency-Key" in cors["AllowHeaders"]
    assert "AllowCredentials" not in cors
