"""The scripts of our pages, which stand in them, and their hashes: no other script runs there."""

from __future__ import annotations

import base64
import hashlib
from functools import cache

from grader.paths import data_root

REPORT = "report.js"
GROUP = "group.js"


@cache
def script(name: str) -> str:
    """The text of a script of ours."""
    return (data_root() / "templates" / name).read_text("utf-8")


@cache
def script_hash(name: str) -> str:
    """What names it in a page's policy (CSP level 3, `script-src`)."""
    digest = base64.b64encode(hashlib.sha256(script(name).encode()).digest()).decode("ascii")
    return f"sha256-{digest}"
