"""Changes of the host's own memory, as what becomes of its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.function import changed
from grader.repair.host_memory import memory_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

HEAD = "#include <vector>\nint main() {\nint n = 8;\n"


def made(line: str, *, arrays: tuple[str, ...] = ()) -> list[str]:
    """The text of `line`, the fourth, with each change of it, likeliest first."""
    text = f"{HEAD}{line}\nuse(a);\nreturn 0;\n}}\n"
    changes = sorted(memory_changes(parse(SourceText(Path("p.cu"), text, "utf-8")), {4}, arrays), key=lambda c: c.cost)
    return [changed(text, change).removeprefix(HEAD).split("\n")[0] for change in changes]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("float *a = new float[n / 2];", "float *a = new float[n];"),
        ("float *a = (float *)malloc(n);", "float *a = (float *)malloc(n * sizeof(float));"),
        ("int *a = static_cast<int *>(std::malloc(4 * n - 1));", "int *a = static_cast<int *>(std::malloc(4 * n));"),
        ("std::vector<float> a(n / 2);", "std::vector<float> a(n);"),
        ("auto a = std::make_unique<float[]>(n / 4);", "auto a = std::make_unique<float[]>(n);"),
        ("float *a; cudaMallocHost(&a, n - 1);", "float *a; cudaMallocHost(&a, n);"),
    ],
)
def test_a_size_of_the_host_s_memory_that_is_too_small(line: str, first: str) -> None:
    assert first in made(line)[:3]


def test_memory_that_is_freed_too_early_or_twice() -> None:
    text = HEAD + "float *a = new float[n];\ndelete[] a;\nuse(a);\nfree(b);\nfree(b);\nreturn 0;\n}\n"
    parsed = parse(SourceText(Path("p.cu"), text, "utf-8"))
    early = [changed(text, c) for c in memory_changes(parsed, {5}, ())]
    assert [t.replace(HEAD, "") for t in early] == [
        "float *a = new float[n];\nuse(a);\ndelete[] a;\nfree(b);\nfree(b);\nreturn 0;\n}\n"
    ]
    twice = [c for c in memory_changes(parsed, {8}, ()) if c.detail == "extra"]
    assert [changed(text, c).count("free(b)") for c in twice] == [1]
