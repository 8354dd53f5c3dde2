"""The headers of the pages that the API serves: each runs the code and styles that stand in it, and nothing else."""

from __future__ import annotations

import base64
import hashlib


def page_headers(*, style: str, script: str) -> dict[str, str]:
    """A page with this inline style and this inline script, which calls the API that it came from and nobody else."""
    policy = (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        # No text becomes markup or code: https://www.w3.org/TR/trusted-types/
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }


def _source(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
