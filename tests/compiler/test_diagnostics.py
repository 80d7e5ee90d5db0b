"""Messages out of a compiler's log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.compiler.diagnostics import MAX_LOG_CHARACTERS, Diagnostic, diagnostics_of
from grader.words import text

pytestmark = pytest.mark.started

SOURCE = {"lab.cu": "first\n  float x = y;\nlast\n"}


def test_keeps_the_students_and_drops_the_rest() -> None:
    log = """/opt/secret.h(3): error: identifier "password" is undefined
  password = 5;
  ^

lab.cu(2): warning #177-D: variable "x" was declared but never referenced
    float x = y;
          ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

lab.cu(2): error: no instance of function "f" matches the argument list
            argument types are: (float *)
    float x = y;
              ^

/lab.cu(3): catastrophic error: cannot open source file "a.h": Permission denied
  last
  ^

lab.cu(9): error: a line that is not there
__nv_name_map(4): error: identifier "zz" is undefined
2 errors detected in the compilation of "lab.cu".
"""
    found, shown = diagnostics_of(log, SOURCE)
    assert found == (
        Diagnostic("lab.cu", 2, "warning", 'variable "x" was declared but never referenced'),
        Diagnostic(
            "lab.cu", 2, "error", 'no instance of function "f" matches the argument list argument types are: (float *)'
        ),
        Diagnostic("lab.cu", 3, "error", 'cannot open source file "a.h"'),
    )
    assert "password" not in shown
    assert "not there" not in shown
    assert "Permission" not in shown
    assert shown.count("float x = y;") == 2


def test_the_same_message_counts_once() -> None:
    log = "lab.cu(1): error: wrong\n\n" * 5
    assert diagnostics_of(log, SOURCE)[0] == (Diagnostic("lab.cu", 1, "error", "wrong"),)


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ('namespace "std" has no member "min"', "Device code has a built-in min: write it without std::."),
        ('namespace "std" has no member "sort"', "a kernel cannot use std::sort."),
        ('identifier "cudaMalloc" is undefined', "cudaMalloc is for host code"),
        ('identifier "cout" is undefined', "cout is for host code"),
        ("device-side kernel launch could not be processed", "launched from host code"),
        ('identifier "x" is undefined', ""),
    ],
)
def test_hints(message: str, hint: str) -> None:
    (found,), _shown = diagnostics_of(f"lab.cu(1): error: {message}\n", SOURCE)
    assert found.message == message
    assert hint in text(found.hint)
    assert bool(hint) == (found.hint is not None)
    assert bool(hint) == bool(found.hint)


@given(st.text(alphabet="lab.cu(12): error warning#\n ^D-", max_size=300))
def test_any_log_is_read(log: str) -> None:
    found, shown = diagnostics_of(log, SOURCE)
    assert all(d.file == "lab.cu" and 1 <= d.line <= 4 for d in found)
    assert len(shown) <= MAX_LOG_CHARACTERS
