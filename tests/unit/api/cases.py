"""The hostile cases, by id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parents[2] / "cases" / "security.json"

SECURITY: dict[str, dict[str, Any]] = {
    case["id"]: case["input"] for case in json.loads(_FILE.read_text(encoding="utf-8"))["cases"]
}
