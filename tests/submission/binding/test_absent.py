"""Files without a kernel: what is wrong with them, and where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.submission.binding.bind import why_absent
from grader.submission.binding.entries import Entry, launched_twice
from grader.submission.kernels.records import LaunchSite
from grader.submission.source import SourceText

K = "__global__ void k(float *a) { a[0] = 1; }"


@pytest.mark.parametrize(
    ("text", "headers", "expected"),
    [
        ("int main() { return 0; }", [], ("no_global", {})),
        ("float f();\n__global__ void k(float *a,\n   int n);\n", [], ("declared", {"line": 2, "kernel": "k"})),
        (
            '#include "k.cuh"\n__global__ void k(float *a);\n',
            [("a.cu", "k.cuh", 1)],
            ("declared_elsewhere", {"line": 2, "kernel": "k", "header": "k.cuh"}),
        ),
        ('#include "k.cuh"\nint main() {}', [("a.cu", "k.cuh", 1)], ("missing_header", {"line": 1, "header": "k.cuh"})),
        (f"int x;\n// {K}\n", [], ("commented", {"line": 2})),
        (f"int x;\n/*\n{K}\n*/\n", [], ("commented", {"line": 3})),
        (f"#if 0\n{K}\n#endif\n", [], ("inactive", {"line": 2})),
        (
            "#define BODY(x) { x; \\\n  if (x) {\n }}\n__global__ void k(float *a) BODY(a)\n",
            [],
            ("cut_macro", {"line": 2}),
        ),
        (f'const char *s = "__global__ void h();";\n{K}', [], ("inactive", {"line": 1})),
    ],
)
def test_the_cause_is_told_with_its_line(
    text: str, headers: list[tuple[str, str, int]], expected: tuple[str, dict[str, object]]
) -> None:
    found = why_absent([SourceText(Path("a.cu"), text, "utf-8")], headers, set())
    assert found is not None
    assert found[0] == expected[0]
    assert {key: found[1][key] for key in expected[1]} == expected[1]


def test_where_a_kernel_was_found_only_what_is_declared_is_told() -> None:
    defined = SourceText(Path("a.cu"), f"__global__ void k(float *a);\n{K}\n__global__ void j(int *b);", "utf-8")
    found = why_absent([defined], [], {"k"})
    assert found is not None and (found[0], found[1]["kernel"]) == ("declared", "j")
    assert why_absent([SourceText(Path("a.cu"), K, "utf-8")], [], {"k"}) is None


def test_one_kernel_that_is_launched_in_several_lines_is_told_where_another_is_missing() -> None:
    entry = Entry.__new__(Entry)
    for lines, wanted in (((7, 9), {"launched": "flip<0>", "lines": "7, 9"}), ((7, 7), {})):
        entry.sites = tuple(
            replace(LaunchSite("flip", n, (32, 1, 1), (), 0), observed=True, template_arguments=("0",)) for n in lines
        )
        assert launched_twice([entry]) == wanted
