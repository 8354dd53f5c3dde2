"""How long S3 is waited for: whoever waits has a lease that ends, or a caller who does not wait for ever.

A socket's timeout alone bounds nothing: it begins anew with each byte, and with each attempt.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """``silence_seconds``: for the next byte; then the request is made again, ``attempts`` times in all.

    ``seconds``: for one operation, whatever it takes: attempts, pauses between them, and the body.
    """

    silence_seconds: float
    attempts: int
    seconds: float


# A request to the API reads once, seldom more often: see ``REQUEST_SECONDS``.
REQUEST = Patience(silence_seconds=2, attempts=3, seconds=6)
# Freezer and loader renew their lease (``store.cold_leases.TTL``) before each operation.
TICK = Patience(silence_seconds=8, attempts=3, seconds=20)

# For all reads of one request: API Gateway waits for 29 s, and the database has its part of them.
REQUEST_SECONDS = 18.0


def in_time(work: Callable[[], T], seconds: float) -> T:
    """What ``work`` answers, if it does so within ``seconds``. Work that is late goes on by itself, unheard.

    Raises:
        TimeoutError: it is late.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised to whoever waits for the answer
            answer.set_exception(error)

    threading.Thread(target=run, name="cold-tier", daemon=True).start()
    return answer.result(timeout=seconds)
