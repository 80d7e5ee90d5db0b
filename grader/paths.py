"""Where the files that come with the grader lie."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
"""The grader's own code."""


def data_root() -> Path:
    """The folder that holds `assignments`, `reference` and `templates`: in the package, or the checkout round it."""
    installed = PACKAGE / "data"
    return installed if installed.is_dir() else PACKAGE.parent
