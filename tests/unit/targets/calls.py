"""An attempt to be made, for tests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from hourbell.targets.arns import AllowedTargets, Home
from hourbell.targets.call import TargetCall
from hourbell.targets.rules import TargetRules

from tests.seeds import T0

REGION = "eu-central-1"
ACCOUNT = "123456789012"  # moto's
RULES = TargetRules(
    stage="test",
    home=Home(region=REGION, account=ACCOUNT),
    allowed=AllowedTargets((f"arn:aws:*:*:{ACCOUNT}:*",)),
)
RUN = UUID("01a5644d-0200-8783-a298-9e0000000007")
JOB = UUID("01a5644d-0200-7783-a298-9e0000000008")
LEASE = UUID("01a5644d-0200-4783-a298-9e0000000009")


def target_call(config: dict[str, Any], payload: str = '{"n": 1.50}', **options: Any) -> TargetCall:
    values = {"timeout": timedelta(seconds=5), "attempt": 2, "progress": None, **options}
    return TargetCall(
        config=config,
        payload=payload,
        target_id=UUID(int=1),
        run_id=RUN,
        job_id=JOB,
        scheduled_for=T0,
        lease_token=LEASE,
        **values,
    )
