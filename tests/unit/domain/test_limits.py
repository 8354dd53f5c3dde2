"""The limits of AWS: in one module, each group with the page and the day it was read."""

from __future__ import annotations

import re
from pathlib import Path

from hourbell.domain import limits

PACKAGE = Path(limits.__file__).parents[1]


def test_limits_of_aws_are_written_once_with_the_day_they_were_read():
    text = Path(limits.__file__).read_text(encoding="utf-8")
    of_aws = re.findall(r"^((?:SQS|EVENTBRIDGE|LAMBDA)_\w+) = ", text, re.MULTILINE)
    assert {"SQS_MAX_DELAY_SECONDS", "SQS_BATCH", "EVENTBRIDGE_BATCH", "LAMBDA_MAX_RESPONSE_BYTES"} <= set(of_aws)
    for name in of_aws:
        before = text[: text.index(f"\n{name} = ")]
        heading = before[before.rindex("# ---") :] if "# ---" in before else ""
        assert re.search(r"read 20\d\d-\d\d", heading), name
    own_copy = re.compile(r"^(?:SQS|LAMBDA|EVENTBRIDGE)_\w+ = \d", re.MULTILINE)
    others = (path for path in PACKAGE.rglob("*.py") if path.name != "limits.py")
    again = [path.name for path in others if own_copy.search(path.read_text(encoding="utf-8"))]
    assert again == []
    assert (limits.SQS_MAX_DELAY_SECONDS, limits.SQS_BATCH) == (900, 10)
