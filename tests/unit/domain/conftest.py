"""The machine's own zone data must not answer for the pinned one."""

import zoneinfo
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def pinned_zone_data() -> Iterator[None]:
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath()
