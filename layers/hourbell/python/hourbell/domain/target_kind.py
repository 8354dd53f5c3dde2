"""The kinds of targets."""

from __future__ import annotations

from enum import StrEnum


class TargetKind(StrEnum):
    """As the target table's constraint has it; also the member of a target that holds what only its kind has."""

    HTTP = "http"
    LAMBDA = "lambda"
    SQS = "sqs"
    SNS = "sns"
    EVENTBRIDGE = "eventbridge"
    STEP_FUNCTIONS = "step_functions"
    PULL = "pull"
