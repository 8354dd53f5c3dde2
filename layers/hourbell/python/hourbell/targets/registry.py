"""Every kind of target: what its config holds, how it is checked at create, how an attempt is made.

A kind's module is imported by its first use, so that no cold start pays for kinds it does not meet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never
from uuid import UUID

from hourbell.domain.target_kind import TargetKind

if TYPE_CHECKING:
    from hourbell.domain.outcome import AttemptResult
    from hourbell.targets.aws import AwsCaller
    from hourbell.targets.call import TargetCall
    from hourbell.targets.http import HttpCaller
    from hourbell.targets.rules import TargetRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """What the kinds call with. ``aws`` answers the same one each time, made for the first target in AWS."""

    http: HttpCaller
    aws: Callable[[], AwsCaller]


def config_members(kind: TargetKind) -> tuple[str, ...]:  # noqa: PLR0911 - one a kind
    """The members of a kind's config, in the order in which they are shown."""
    match kind:
        case TargetKind.HTTP:
            return ("url", "method", "headers", "secret")
        case TargetKind.LAMBDA:
            return ("arn", "invocation")
        case TargetKind.SQS:
            return ("queue_url", "message_group_id")
        case TargetKind.SNS:
            return ("topic_arn", "message_group_id")
        case TargetKind.EVENTBRIDGE:
            return ("bus", "source", "detail_type")
        case TargetKind.STEP_FUNCTIONS:
            return ("state_machine_arn",)
        case TargetKind.PULL:
            return ()
        case _:
            assert_never(kind)


def check_config(  # noqa: PLR0911 - one a kind
    kind: TargetKind, config: Mapping[str, Any], *, rules: TargetRules, tenant_id: UUID
) -> dict[str, Any]:
    """The config to be stored; ``config`` has the members of its kind, in the right types.

    Raises:
        FieldError, FieldErrors: by the names of the members.
    """
    match kind:
        case TargetKind.HTTP:
            from hourbell.targets import http

            return http.check(config, rules, tenant_id)
        case TargetKind.LAMBDA:
            from hourbell.targets import aws_lambda

            return aws_lambda.check(config, rules)
        case TargetKind.SQS:
            from hourbell.targets import sqs

            return sqs.check(config, rules)
        case TargetKind.SNS:
            from hourbell.targets import sns

            return sns.check(config, rules)
        case TargetKind.EVENTBRIDGE:
            from hourbell.targets import eventbridge

            return eventbridge.check(config, rules)
        case TargetKind.STEP_FUNCTIONS:
            from hourbell.targets import step_functions

            return step_functions.check(config, rules)
        case TargetKind.PULL:
            from hourbell.targets import pull

            return pull.check(config)
        case _:
            assert_never(kind)


async def call_target(  # noqa: PLR0911 - one a kind
    kind: TargetKind, callers: Callers, call: TargetCall
) -> AttemptResult:
    """Make one attempt.

    Raises:
        HourbellError: what it needs could not be had, or the stage does not allow the target any more.
    """
    match kind:
        case TargetKind.HTTP:
            from hourbell.targets import http

            return await http.call(callers.http, call)
        case TargetKind.LAMBDA:
            from hourbell.targets import aws_lambda

            return await aws_lambda.call(callers.aws(), call)
        case TargetKind.SQS:
            from hourbell.targets import sqs

            return await sqs.call(callers.aws(), call)
        case TargetKind.SNS:
            from hourbell.targets import sns

            return await sns.call(callers.aws(), call)
        case TargetKind.EVENTBRIDGE:
            from hourbell.targets import eventbridge

            return await eventbridge.call(callers.aws(), call)
        case TargetKind.STEP_FUNCTIONS:
            from hourbell.targets import step_functions

            return await step_functions.call(callers.aws(), call)
        case TargetKind.PULL:
            from hourbell.targets import pull

            return await pull.call(call)
        case _:
            assert_never(kind)
