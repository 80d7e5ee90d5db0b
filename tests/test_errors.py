"""What the system refused, as users read it."""

from __future__ import annotations

import errno
import os

import pytest

from grader import i18n
from grader.errors import describe_os_error
from grader.words.labs import ERRORS


@pytest.mark.parametrize("name", sorted(ERRORS.keys() - {"at"}))
def test_the_reasons_in_english_are_the_system_s_own(name: str) -> None:
    number = getattr(errno, name.upper())
    assert describe_os_error(OSError(number, "", "a/b")) == f"a/b: {os.strerror(number)}"


def test_a_reason_is_told_in_the_language_in_use_and_an_unknown_one_as_it_is() -> None:
    i18n.use("ru")
    try:
        assert (
            describe_os_error(OSError(errno.ENOSPC, "No space left on device", "x")) == "x: на диске не осталось места"
        )
        assert describe_os_error(OSError(errno.ENXIO, "No such device")) == "No such device"
        assert describe_os_error(OSError("cannot")) == "cannot"
    finally:
        i18n.use("en")
