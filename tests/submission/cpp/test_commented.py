"""Launches that stand in comments are taken out of them where their kernel is launched nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.submission.cpp.scopes import with_launches_of_comments
from grader.submission.source import SourceText

KERNELS = "__global__ void a(float *p) { p[0] = 1; }\n__global__ void b(float *p) { p[0] = 2; }\n"


def launches(body: str, before: str = "") -> tuple[list[str], list[tuple[str, int]]]:
    """The lines of `main` that are changed, and what is told of them."""
    text = f"{KERNELS}{before}int main() {{\n{body}\n}}\n"
    (source,), found = with_launches_of_comments([SourceText(Path("x.cu"), text, "utf-8")])
    old, new = text.split("\n"), source.text.split("\n")
    assert len(old) == len(new)
    assert source.written == (text if found else None)
    return [n.strip() for o, n in zip(old, new, strict=True) if o != n], [(kernel, line) for _f, kernel, line in found]


@pytest.mark.parametrize(
    ("body", "changed", "found"),
    [
        ("a<<<1, 2>>>(p);\n// b<<<1, 2>>>(p);", ["b<<<1, 2>>>(p);"], [("b", 5)]),
        ("a<<<1, 2>>>(p); // b <<< g, t >>> (p); // slower", ["a<<<1, 2>>>(p);    b <<< g, t >>> (p);"], [("b", 4)]),
        ("a<<<1, 2>>>(p); /* time: 3 ms\nb<<<1,\n2>>>(p);\nsync(); */", ["a<<<1, 2>>>(p);", ""], [("b", 5)]),
        ("//a<<<1, 2>>>(p);\n//a<<<2, 2>>>(p);\nb<<<1, 2>>>(p);", ["a<<<1, 2>>>(p);"], [("a", 4)]),
    ],
)  # fmt: skip
def test_a_launch_in_a_comment_is_taken(body: str, changed: list[str], found: list[tuple[str, int]]) -> None:
    assert launches(body) == (changed, found)


@pytest.mark.parametrize(
    ("body", "before"),
    [
        # Launched as well, be it by another name; what is no launch, or is none of the program's kernels.
        ("a<<<1, 2>>>(p); b<<<1, 2>>>(p); // b<<<1, 4>>>(p);", ""),
        ("a<<<1, 2>>>(p); run(b); // b<<<1, 4>>>(p);", ""),
        ("a<<<1, 2>>>(p); // b<<<1, 4>>> is slower", ""),
        ("a<<<1, 2>>>(p); // c<<<1, 4>>>(p);", ""),
        # Not in a function of the host's.
        ("a<<<1, 2>>>(p);", "// b<<<1, 4>>>(p);\n"),
        ("a<<<1, 2>>>(p);", "__device__ void f() {\n// b<<<1, 4>>>(p);\n}\n"),
        ('a<<<1, 2>>>(p); puts("// b<<<1, 4>>>(p);");', ""),
        # Its own grid or block is in a comment too.
        ("// dim3 t(32);\ndim3 t(16);\na<<<1, t>>>(p);\n// b<<<1, t>>>(p);", ""),
        ("int n = 4; // n = 2;\na<<<n, 2>>>(p);\n// b<<<n, 2>>>(p);", ""),
    ],
)
def test_other_comments_are_left(body: str, before: str) -> None:
    assert launches(body, before) == ([], [])
