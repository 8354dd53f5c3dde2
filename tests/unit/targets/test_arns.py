"""ARNs, queue URLs, and the list of what a stage allows."""

from __future__ import annotations

import pytest
from hourbell.targets.arns import AllowedTargets, ArnError, Home, bus_arn, parse_arn, queue_arn

HOME = Home(region="eu-west-1", account="123456789012")


@pytest.mark.parametrize(
    ("service", "text", "name"),
    [
        ("lambda", "arn:aws:lambda:eu-west-1:123456789012:function:a", "a"),
        ("lambda", "arn:aws:lambda:eu-west-1:123456789012:function:a:live", "a"),
        ("lambda", "arn:aws:lambda:eu-west-1:123456789012:function:a:$LATEST", "a"),
        ("lambda", "arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:a:7", "a"),
        ("sns", "arn:aws-cn:sns:cn-north-1:123456789012:a.fifo", "a.fifo"),
        ("events", "arn:aws:events:ap-southeast-2:123456789012:event-bus/partner/x", "partner/x"),
        ("states", "arn:aws:states:eu-west-1:123456789012:stateMachine:a.b:live", "a.b"),
    ],
)
def test_arns(service: str, text: str, name: str):
    arn = parse_arn(text, service)
    assert (str(arn), arn.name) == (text, name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "arn:aws:lambda:eu-west-1:123456789012:function:",
        "arn:aws:lambda:eu-west-1:12345678901:function:a",
        "arn:aws:lambda::123456789012:function:a",
        "arn:aws:lambda:eu-west-1:123456789012:function:a:b:c",
        "arn:aws:lambda:eu-west-1:123456789012:function:a\n",
        "arn:aws:lambda:eu-west-1:123456789012:function:a?",
        "ARN:aws:lambda:eu-west-1:123456789012:function:a",
        "arn:aws:lambda:eu-west-1:\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669\u0660\u0661\u0662:function:a",
        "arn:aws:sqs:eu-west-1:123456789012:a",
        "arn:aws:sqs:eu-west-1:123456789012:function:a",
    ],
)
def test_what_is_no_function(text: str):
    with pytest.raises(ArnError, match="function"):
        parse_arn(text, "lambda")


def test_a_bus_without_account_and_region_is_at_home():
    assert str(bus_arn("default", HOME)) == "arn:aws:events:eu-west-1:123456789012:event-bus/default"
    china = Home(region="cn-north-1", account="123456789012")
    assert str(bus_arn("default", china)) == "arn:aws-cn:events:cn-north-1:123456789012:event-bus/default"


@pytest.mark.parametrize(
    ("url", "arn"),
    [
        ("https://sqs.us-east-2.amazonaws.com/999999999999/a", "arn:aws:sqs:us-east-2:999999999999:a"),
        (
            "https://sqs.cn-north-1.amazonaws.com.cn/999999999999/a.fifo",
            "arn:aws-cn:sqs:cn-north-1:999999999999:a.fifo",
        ),
        ("http://127.0.0.1:4566/000000000000/a", "arn:aws:sqs:eu-west-1:000000000000:a"),
        ("http://localhost:4566/000000000000/a", "arn:aws:sqs:eu-west-1:000000000000:a"),
    ],
)
def test_queue_urls(url: str, arn: str):
    assert str(queue_arn(url, HOME, local_allowed=True)) == arn


@pytest.mark.parametrize(
    "url",
    [
        "https://sqs.us-east-2.amazonaws.com.cn/999999999999/a",
        "https://sqs.cn-north-1.amazonaws.com/999999999999/a",
        "https://127.0.0.1:4566/000000000000/a",
        "http://127.0.0.1:4566/0/a",
        "http://10.0.0.1:4566/000000000000/a",
        "https://sqs.us-east-2.amazonaws.com/999999999999/a.FIFO",
        "https://sqs.us-east-2.amazonaws.com/999999999999/" + "a" * 81,
        "https://sqs.us-east-2.amazonaws.com/999999999999/" + "a" * 76 + ".fifo",
    ],
)
def test_what_is_no_queue(url: str):
    with pytest.raises(ArnError):
        queue_arn(url, HOME, local_allowed=True)


def test_an_emulators_queues_are_for_the_local_stage():
    with pytest.raises(ArnError):
        queue_arn("http://127.0.0.1:4566/000000000000/a", HOME, local_allowed=False)


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        ("arn:aws:sqs:eu-west-1:123456789012:jobs", True),
        ("arn:aws:sqs:eu-west-1:123456789012:job?", True),
        ("arn:aws:sqs:eu-west-1:123456789012:j*s", True),
        ("arn:aws:sqs:*:jobs", True),
        ("arn:aws:sqs:eu-west-1:123456789012:job", False),
        ("arn:aws:sqs:eu-west-1:123456789012:jobs?", False),
        ("arn:aws:sqs:eu-west-1:123456789012:JOBS", False),
        ("arn:aws:sqs:eu-west-1:123456789012:[j]obs", False),
        ("arn:aws:sqs:eu.west.1:123456789012:jobs", False),
        ("", False),
    ],
)
def test_patterns_match_as_iam_does(pattern: str, allowed: bool):
    assert AllowedTargets((pattern,)).allows(HOME.arn("sqs", "jobs")) is allowed


def test_one_matching_pattern_is_enough():
    patterns = ("arn:aws:sqs:eu-west-1:123456789012:a", "arn:aws:sqs:eu-west-1:123456789012:jobs")
    assert AllowedTargets(patterns).allows(HOME.arn("sqs", "jobs"))
    assert not AllowedTargets().allows(HOME.arn("sqs", "jobs"))
