"""``make synth``: the CloudFormation templates of both stages, without an account or a call to AWS."""

from __future__ import annotations

from hourbell.local.deploy import Toolchain
from hourbell.local.progress import Progress
from hourbell.local.project import Project

# Each stage with the build of the layers that it deploys (cdk/settings.py).
STAGES = {"prod": "aws", "local": "local"}


def synthesise(project: Project, progress: Progress) -> None:
    """Write ``cdk.out.<stage>`` for each stage; cdk-nag's findings fail it.

    Raises:
        LocalCloudError: a stage cannot be synthesised.
    """
    tools = Toolchain(project=project)
    for stage, layers in STAGES.items():
        with progress.step(f"Layers for {layers}"):
            tools.build_layers(layers, progress)
        with progress.step(f"Stage {stage} into cdk.out.{stage}/"):
            output = project.root / f"cdk.out.{stage}"
            tools.cdk(["synth", "--all", "--quiet", "--output", output, "--context", f"stage={stage}"], progress)
