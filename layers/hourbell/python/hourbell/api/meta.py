"""The operations that need no key: health, the OpenAPI document, the page that shows it, the console."""

from __future__ import annotations

from functools import cache

from hourbell.api.calls import Call, Reply
from hourbell.api.operations import Operation

_HTML = "text/html; charset=utf-8"


def check_health(call: Call) -> Reply:
    """Also asks the database: an API that cannot store anything is not healthy."""
    call.api.scheduler.database.run(lambda connection: connection.execute("select 1"))
    return Reply(body='{"status":"ok"}')


def show_openapi(_call: Call) -> Reply:
    """Made of the operations themselves, at the first request."""
    return Reply(body=_openapi_text(), headers={"Cache-Control": "public, max-age=300"})


def show_docs(_call: Call) -> Reply:
    """One page that reads the document beside it and nothing else."""
    from hourbell.api.docs_page import PAGE, PAGE_HEADERS

    return Reply(body=PAGE, content_type=_HTML, headers=PAGE_HEADERS)


def show_console(_call: Call) -> Reply:
    """One page that calls the API beside it, with the key that its reader pastes."""
    from hourbell.api.console_page import PAGE, PAGE_HEADERS

    return Reply(body=PAGE, content_type=_HTML, headers=PAGE_HEADERS)


@cache
def _openapi_text() -> str:
    from hourbell.api.openapi import openapi_document
    from hourbell.api.strict_json import dump

    return dump(openapi_document())


OPERATIONS = (
    Operation(
        method="GET",
        path="/v1/health",
        name="checkHealth",
        summary="Whether the API and its database answer",
        handle=check_health,
        scope=None,
        reply="Health",
        errors=(503,),
    ),
    Operation(
        method="GET",
        path="/openapi.json",
        name="showOpenapi",
        summary="This document",
        handle=show_openapi,
        scope=None,
        reply="Any",
    ),
    Operation(
        method="GET",
        path="/docs",
        name="showDocs",
        summary="This document as a page",
        handle=show_docs,
        scope=None,
        reply="Text",
        content_type="text/html",
    ),
    Operation(
        method="GET",
        path="/console",
        name="showConsole",
        summary="The web console",
        handle=show_console,
        scope=None,
        reply="Text",
        content_type="text/html",
    ),
)
