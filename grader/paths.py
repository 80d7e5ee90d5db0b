"""Where the files that come with the grader lie, and those that it keeps for its user."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
"""The grader's own code."""


def data_root() -> Path:
    """The folder that holds `assignments`, `reference` and `templates`: in the package, or the checkout round it."""
    installed = PACKAGE / "data"
    return installed if installed.is_dir() else PACKAGE.parent


def user_cache() -> Path:
    """The user's folder for what can be made again: `~/.cache/cuda-lab-grader`."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if cache.startswith("/") else home() / ".cache"
    return base / "cuda-lab-grader"


def home() -> Path:
    """The user's home; `/` for one without a name in a container that says nothing of a home."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")
