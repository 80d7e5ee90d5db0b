"""Sizes of copies and arrays, changed in the call, where they are computed, and in what a helper is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.function import Change, changed
from grader.repair.host_arguments import host_of, size_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

HELPER = "template <typename T>\nvoid put(T *d, const T *h, size_t n) {{\n"
HELPER += "cudaMemcpy(d, h, {}, cudaMemcpyHostToDevice);\n}}\nint main() {{ put(a, b, {}); }}\n"
MADE = "float *make(int rows, int cols) {{\nfloat *d;\nint size = {};\ncudaMalloc(&d, size);\nreturn d;\n}}\n"


def sizes(text: str) -> dict[str, Change]:
    """What becomes of a file where a size is changed."""
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    found: dict[str, Change] = {}
    for call in host.calls:
        for change in size_changes(host, call):
            found.setdefault(changed(text, change), change)
    return found


@pytest.mark.parametrize(
    ("wrong", "right", "line", "detail"),
    [
        (("n", "count"), ("n * sizeof(T)", "count"), 3, "bytes"),
        (("n * sizeof(h)", "count"), ("n * sizeof(T)", "count"), 3, "size"),
        # What the caller hands over is wrong, and the helper is right.
        (("n * sizeof(T)", "count / 2"), ("n * sizeof(T)", "count"), 5, "size"),
        (("n * sizeof(T)", "count * sizeof(int)"), ("n * sizeof(T)", "count"), 5, "size"),
        (("n", "count"), ("n", "count * sizeof(T)"), 5, "bytes"),
        (("n / 2 * sizeof(T)", "count"), ("n * sizeof(T)", "count"), 3, "size"),
    ],
)
def test_a_copy_in_a_helper(wrong: tuple[str, str], right: tuple[str, str], line: int, detail: str) -> None:
    found = sizes(HELPER.format(*wrong))
    change = found[HELPER.format(*right)]
    assert (change.kind, change.line, change.detail) == ("host", line, detail)


def test_what_is_given_in_bytes_is_not_multiplied_by_a_width_again() -> None:
    found = sizes(HELPER.format("n", "count * sizeof(int)"))
    assert not any("sizeof(int) * sizeof" in text for text in found)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("rows * sizeof(float)", "rows * cols * sizeof(float)"),
        ("sizeof(float) * rows", "sizeof(float) * rows * cols"),
        ("rows", "rows * cols"),
        ("rows * sizeof(float)", "rows * rows * sizeof(float)"),
        ("(rows - 1) * sizeof(float)", "(rows - 1) * cols * sizeof(float)"),
    ],
)
def test_a_factor_that_is_lost(wrong: str, right: str) -> None:
    found = sizes(MADE.format(wrong))
    assert found[MADE.format(right)].line == 3
    # Where one is lacking, one is not taken for another's bytes.
    assert found[MADE.format(right)].detail == "size"
