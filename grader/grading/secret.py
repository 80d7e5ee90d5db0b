"""The secret of a course, from which and a submission the drawn case is made."""

from __future__ import annotations

import os
from pathlib import Path

from grader.errors import UsageError
from grader.message import msg

SECRET = "CUDA_LAB_GRADER_SECRET"
SECRET_FILE = "CUDA_LAB_GRADER_SECRET_FILE"
SHORTEST = 16
"""Characters of a secret: fewer could be tried out."""


def secret() -> str:
    """The secret of the course, "" where none is set.

    Raises
    ------
    UsageError : its file cannot be read, or it is too short.
    """
    found, path = os.environ.get(SECRET, ""), os.environ.get(SECRET_FILE, "")
    if path:
        try:
            found = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or msg("session.no_utf8")
            raise UsageError(msg("errors.at", where=f"{SECRET_FILE}: {path}", what=reason)) from error
    found = found.strip()
    if (found or path) and len(found) < SHORTEST:
        name = SECRET_FILE if path else SECRET
        raise UsageError(msg("session.secret_short", name=name, got=len(found), least=SHORTEST))
    return found
