"""The page under ``/console``: the files of ``console/`` as one, so that it loads nothing from anywhere.

The scripts share one scope, in this order: those that pages are made of, the pages, the frame. There is no build step;
what stands in ``console/`` is what the browser runs. ``vendor/`` holds files of npm packages as they were published.
"""

from __future__ import annotations

from importlib.resources import files

from hourbell.api.page_policy import page_headers

VENDORED = ("preact.umd.js", "hooks.umd.js", "htm.umd.js")
SCRIPTS = (
    "names.js",
    "clock.js",
    "api.js",
    "route.js",
    "merge_patch.js",
    "parts.js",
    "charts.js",
    "sign_in.js",
    "overview.js",
    "jobs.js",
    "runs.js",
    "run.js",
    "job.js",
    "backfill.js",
    "forms.js",
    "job_form.js",
    "targets.js",
    "target_form.js",
    "keys.js",
    "main.js",
)


def _read(name: str) -> str:
    return (files(__package__) / "console" / name).read_text(encoding="utf-8")


def _vendored(name: str) -> str:
    """Without the pointer to a source map, which nobody serves."""
    return _read(f"vendor/{name}").partition("//# sourceMappingURL")[0]


_STYLE = _read("console.css")
_SCRIPT = (
    "\n".join(map(_vendored, VENDORED)) + '\n(() => {\n"use strict";\n' + "\n".join(map(_read, SCRIPTS)) + "\n})();\n"
)

PAGE = _read("index.html").replace("/* style */", _STYLE).replace("/* script */", _SCRIPT)
PAGE_HEADERS = page_headers(style=_STYLE, script=_SCRIPT)
