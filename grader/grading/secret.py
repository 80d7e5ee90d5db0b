"""The secret of a course, from which and a submission the drawn case is made; and what is signed with it."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from functools import cache
from pathlib import Path

from grader.errors import UsageError
from grader.files import read_plain, user_cache
from grader.message import msg

SECRET = "CUDA_LAB_GRADER_SECRET"
SECRET_FILE = "CUDA_LAB_GRADER_SECRET_FILE"
KEY_BYTES = 32
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


def signature(data: bytes) -> str:
    """What only this user can make of `data`, or whoever knows the course's secret where one is set.

    Raises
    ------
    OSError : there is no secret, and the user's key can be neither read nor made.
    UsageError : see `secret`.
    """
    found = secret()
    key = hashlib.sha256(found.encode()).digest() if found else _own_key(user_cache() / "key")
    return hmac.new(key, b"kept result\0" + data, hashlib.sha256).hexdigest()


@cache
def _own_key(path: Path) -> bytes:
    """The user's key, made at its first use; nobody else may read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        key = read_plain(path, KEY_BYTES)
        if len(key) == KEY_BYTES:
            return key
        path.unlink()
    # Whole before it has its name; of several that make one the first counts.
    made = path.with_name(f".{secrets.token_hex(8)}.key")
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(made, path)
    finally:
        made.unlink(missing_ok=True)
    return read_plain(path, KEY_BYTES)
