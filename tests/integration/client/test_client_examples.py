"""The examples in the client's docstrings, on the API itself."""

from __future__ import annotations

import asyncio
import doctest

import pytest
from hourbell.client import Client
from hourbell.client.operation import Listing, Operation
from hourbell.testing import Engine

DAILY = {"cron": "0 2 * * *", "timezone": "UTC"}
HOURLY = {"cron": "0 * * * *", "timezone": "UTC"}

EXAMPLES = {
    name: method.__doc__
    for name, method in vars(Client.__base__).items()
    if isinstance(method, Operation | Listing) and ">>>" in (method.__doc__ or "")
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_is_true(engine: Engine, name: str):
    """They find a target, two jobs and a run of one of them."""
    hourbell = engine.client
    known = {
        "hourbell": hourbell,
        "billing": hourbell.create_target("billing", {"url": "https://example.com/billing"}),
        "nightly": hourbell.create_job({"name": "nightly", "schedule": DAILY, "target": "billing"}),
        "hourly": hourbell.create_job({"name": "hourly", "schedule": HOURLY, "target": "billing"}),
    }
    known["run"] = hourbell.trigger_job(known["hourly"]["id"])
    engine.clock.advance(seconds=1)
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], known, name, None, 0)
    said: list[str] = []

    doctest.DocTestRunner().run(example, out=said.append)

    assert not said, "".join(said)


def test_most_methods_have_one():
    methods = [method for method in vars(Client.__base__).values() if isinstance(method, Operation)]
    assert len(EXAMPLES) > 0.8 * len(methods)


def test_the_asynchronous_client_reads_the_same_lists(engine: Engine):
    engine.add_target("billing", lambda call: None)
    made = engine.client.create_jobs([{"schedule": DAILY, "target": "billing"}] * 5)["items"]

    async def names() -> set[str]:
        async with engine.async_client() as hourbell:
            return {job["id"] async for job in hourbell.iter_jobs(limit=2)}

    assert asyncio.run(names()) == {job["id"] for job in made}
