"""The CDK app: `cdk deploy --all -c stage=prod`."""

from aws_cdk import App, Tags, Validations
from cdk_nag import AwsSolutionsChecks

from cdk.constructs.place import Sources
from cdk.settings import StageSettings, stage_settings
from cdk.stacks.api import ApiStack
from cdk.stacks.data import DataStack
from cdk.stacks.network import NetworkStack
from cdk.stacks.observability import ObservabilityStack
from cdk.stacks.pipeline import PipelineStack


def add_stacks(app: App, settings: StageSettings, sources: Sources) -> None:
    """Add the stacks `Hourbell-<stage>-…` of one stage, and check them with cdk-nag when the app is synthesised."""
    name = f"Hourbell-{settings.name}"
    network = settings.network
    places = NetworkStack(app, f"{name}-Network", settings=settings, network=network).places if network else None
    data = DataStack(app, f"{name}-Data", settings=settings, sources=sources, places=places)
    pipeline = PipelineStack(app, f"{name}-Pipeline", settings=settings, sources=sources, places=places, data=data)
    api = ApiStack(
        app, f"{name}-Api", settings=settings, sources=sources, places=places, data=data, lanes=pipeline.lanes
    )
    ObservabilityStack(app, f"{name}-Observability", settings=settings, api_id=api.api_id)
    # New code must not meet an old schema, also where no reference says so.
    pipeline.add_stack_dependency(data)
    api.add_stack_dependency(data)
    for tag, value in {"application": "hourbell", "stage": settings.name}.items():
        # CloudFormation takes no tags on a proxy's target group, though the CDK would set them.
        Tags.of(app).add(tag, value, exclude_resource_types=["AWS::RDS::DBProxyTargetGroup"])
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def main() -> None:
    """Context: `stage` (prod), `database` (the conninfo of a stage that brings its own Postgres)."""
    app = App()
    stage = app.node.try_get_context("stage") or "prod"
    settings = stage_settings(stage, database=app.node.try_get_context("database"))
    add_stacks(app, settings, Sources())
    app.synth()


if __name__ == "__main__":
    main()
