"""A look-up reads one block, whatever a server makes of the range it is asked for."""

from __future__ import annotations

from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from hourbell.cold.objects import ColdObjects, StoredObject
from hourbell.cold.record import encode_record, record_id
from hourbell.cold.segment import BLOCK_RECORDS, write_segment
from hourbell.domain.ids import due_hour_of

from tests.cold_jobs import cold_job
from tests.seeds import T0


class Server:
    """``ranges``: whether it answers them, or with the whole (the emulator, for a version)."""

    def __init__(self, body: bytes, *, ranges: bool) -> None:
        self.body, self.ranges = body, ranges

    def get_object(self, *, Range: str, **_wanted: Any) -> dict[str, Any]:  # noqa: N803
        if not self.ranges:
            return {"Body": BytesIO(self.body), "ContentLength": len(self.body)}
        first, last = Range.removeprefix("bytes=").split("-")
        part = self.body[int(first) : int(last) + 1]
        span = f"bytes {first}-{last}/{len(self.body)}"
        return {"Body": BytesIO(part), "ContentLength": len(part), "ContentRange": span}


@pytest.mark.parametrize("ranges", [True, False], ids=["answers ranges", "answers with the whole"])
def test_every_record_is_found(ranges: bool):
    lines = sorted(encode_record(cold_job(T0 + timedelta(days=1))).encode() for _ in range(2 * BLOCK_RECORDS + 9))
    written = write_segment(due_hour_of(T0), lines)
    stored = StoredObject(written.key, "v1", len(written.body), written.sha256, written.blocks)
    server = Server(written.body, ranges=ranges)
    objects = ColdObjects(bucket="b", client=lambda: server)

    for line in lines[:: BLOCK_RECORDS // 2]:
        assert objects.find(stored, record_id(line)) == line
