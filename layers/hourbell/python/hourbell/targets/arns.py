"""Names of AWS resources: taken apart with one grammar, and held against the list of those that a stage allows.

A pattern is an ARN in which ``*`` and ``?`` stand for any letters and any one letter, as in IAM ("IAM JSON policy
elements: Resource", read 2026-11). The same patterns are the resources of the workers' policy, so what is accepted here
is what may be called.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from hourbell.domain.errors import HourbellError

_REGION = r"[a-z]{2}(?:-[a-z]+)+-[0-9]{1,2}"
_ACCOUNT = r"[0-9]{12}"
_ARN = re.compile(
    rf"arn:(?P<partition>aws[a-z-]*):(?P<service>[a-z]+):(?P<region>{_REGION}):(?P<account>{_ACCOUNT}):(?P<resource>.+)"
)
_NAME = r"[A-Za-z0-9_-]"
_FIFO_NAME = rf"(?:{_NAME}{{1,80}}|{_NAME}{{1,75}}\.fifo)"
# From the API reference of each service ("Pattern"), read 2026-11.
_RESOURCES = {
    "lambda": re.compile(rf"function:{_NAME}{{1,64}}(?::(?:\$LATEST|{_NAME}{{1,128}}))?"),
    "sqs": re.compile(_FIFO_NAME),
    "sns": re.compile(rf"(?:{_NAME}{{1,256}}|{_NAME}{{1,251}}\.fifo)"),
    "events": re.compile(r"event-bus/[A-Za-z0-9/._-]{1,256}"),
    "states": re.compile(rf"stateMachine:[A-Za-z0-9._-]{{1,80}}(?::{_NAME}{{1,128}})?"),
}
_BUS_NAME = re.compile(r"[A-Za-z0-9/._-]{1,256}")
_QUEUE_URL = re.compile(
    rf"https://sqs\.(?P<region>{_REGION})\.(?P<suffix>amazonaws\.com(?:\.cn)?)/(?P<account>{_ACCOUNT})/(?P<name>{_FIFO_NAME})"
)
# An emulator's: it has no region of its own.
_LOCAL_QUEUE_URL = re.compile(
    rf"http://(?:127\.0\.0\.1|localhost):[0-9]{{1,5}}/(?P<account>{_ACCOUNT})/(?P<name>{_FIFO_NAME})"
)


class ArnError(HourbellError):
    """The text names no resource of this kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where the workers run: what a name without region and account refers to."""

    region: str
    account: str

    def arn(self, service: str, resource: str) -> Arn:
        """The ARN of a resource of this account and region."""
        return Arn(
            partition=partition_of(self.region),
            service=service,
            region=self.region,
            account=self.account,
            resource=resource,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Arn:
    """The ARN of one resource."""

    partition: str
    service: str
    region: str
    account: str
    resource: str

    def __str__(self) -> str:
        return f"arn:{self.partition}:{self.service}:{self.region}:{self.account}:{self.resource}"

    @property
    def name(self) -> str:
        """The resource's own name: without its type, and without version or alias."""
        kind, _, rest = self.resource.replace("/", ":", 1).partition(":")
        return rest.split(":")[0] if rest else kind


@dataclass(frozen=True)
class AllowedTargets:
    """The AWS resources that a stage's workers may call."""

    patterns: tuple[str, ...] = ()

    def allows(self, arn: Arn) -> bool:
        """Whether one of the patterns matches."""
        return any(pattern.fullmatch(str(arn)) for pattern in self._expressions)

    @cached_property
    def _expressions(self) -> tuple[re.Pattern[str], ...]:
        return tuple(_expressions(self.patterns))


def partition_of(region: str) -> str:
    """The partition of a region that is not isolated."""
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"


def parse_arn(text: str, service: str) -> Arn:
    """Take the ARN of a function, topic, event bus or state machine apart.

    Raises:
        ArnError: with a reason that can be shown to whoever wrote it.
    """
    match = _ARN.fullmatch(text)
    if match is None or match["service"] != service or not _RESOURCES[service].fullmatch(match["resource"]):
        raise ArnError(f"is not an ARN like {_EXAMPLES[service]}")
    return Arn(**match.groupdict())


def bus_arn(text: str, home: Home) -> Arn:
    """The event bus behind a name or an ARN.

    Raises:
        ArnError: as ``parse_arn``.
    """
    if text.startswith("arn:"):
        return parse_arn(text, "events")
    if not _BUS_NAME.fullmatch(text):
        raise ArnError(f"is neither the name of an event bus nor an ARN like {_EXAMPLES['events']}")
    return home.arn("events", f"event-bus/{text}")


def queue_arn(url: str, home: Home, *, local_allowed: bool) -> Arn:
    """The queue behind its URL. ``local_allowed``: whether the URLs of an emulator are fine.

    Raises:
        ArnError: as ``parse_arn``.
    """
    match = _QUEUE_URL.fullmatch(url)
    if match is not None and (match["suffix"] == "amazonaws.com.cn") == match["region"].startswith("cn-"):
        return Home(region=match["region"], account=match["account"]).arn("sqs", match["name"])
    match = _LOCAL_QUEUE_URL.fullmatch(url) if local_allowed else None
    if match is not None:
        return Home(region=home.region, account=match["account"]).arn("sqs", match["name"])
    raise ArnError("is not a queue's URL like https://sqs.eu-west-1.amazonaws.com/123456789012/name")


_EXAMPLES = {
    "lambda": "arn:aws:lambda:eu-west-1:123456789012:function:name, with :version or :alias after it or without",
    "sns": "arn:aws:sns:eu-west-1:123456789012:name",
    "events": "arn:aws:events:eu-west-1:123456789012:event-bus/name",
    "states": "arn:aws:states:eu-west-1:123456789012:stateMachine:name",
}


def _expressions(patterns: Iterable[str]) -> Iterable[re.Pattern[str]]:
    for pattern in patterns:
        yield re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
