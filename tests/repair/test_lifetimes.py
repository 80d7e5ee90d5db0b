"""Changes of what is given back, done once, or never given a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.repair.function import Change, changed
from grader.repair.host_arguments import host_of
from grader.repair.host_calls import initial_changes, lifetime_changes
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

HEAD = "void solve(float *out, const float *in, int n)\n{\n"
FREE, RIGHT = "cudaFree(b);", "cudaFree(b != {0} ? b : a);"


def made(body: str, arrays: tuple[str, ...] = ()) -> dict[str, Change]:
    """What becomes of a function's body."""
    text = f"{HEAD}{body}\n}}\n"
    host = host_of(parse(SourceText(Path("p.cu"), text, "utf-8")))
    changes = [*lifetime_changes(host), *(initial_changes(host, arrays) if arrays else ())]
    return {changed(text, change).removeprefix(HEAD).removesuffix("\n}\n"): change for change in changes}


@pytest.mark.parametrize("swap", ["std::swap(a, b);", "float *t = a; a = b; b = t;"])
def test_of_two_pointers_that_are_swapped_the_caller_s_is_not_freed(swap: str) -> None:
    body = f"float *a = out, *b;\ncudaMalloc(&b, 4);\n{swap}\nCHECK(cudaFree(b));"
    found = made(body)
    assert found[body.replace(FREE[:-1], RIGHT.format("out")[:-1])].detail == "freed"
    assert not made(body.replace(swap, "f(a, b);"))


@pytest.mark.parametrize(
    ("flag", "condition", "is_tried"),
    [
        ("static bool is_ready = false;", "!is_ready", True),
        ("static int calls = 0;", "calls == 0", True),
        ("static int calls = 0;", "calls < n", False),
        ("bool is_ready = false;", "!is_ready", False),
    ],
)
def test_what_is_done_once_may_be_needed_in_every_call(flag: str, condition: str, is_tried: bool) -> None:
    inner = "{\ncudaMemcpyToSymbol(w, in, 4);\n}"
    body = f"{flag}\nif ({condition}) {inner}\nk<<<1, 1>>>(out);"
    changes = made(body)
    assert [(text, c.line) for text, c in changes.items()] == ([(f"{flag}\n{inner}\nk<<<1, 1>>>(out);", 4)] * is_tried)
    # What is allocated in every call is never freed.
    assert not made(body.replace("cudaMemcpyToSymbol(w, in, 4);", "cudaMalloc(&w, 4);"))


def test_an_array_gets_its_first_value_before_the_first_launch() -> None:
    body = "float *sums;\ncudaMalloc(&sums, 4 * n);\nj<<<1, 8>>>(in, sums, n);\nk<<<1, 8>>>(sums, out);"
    costs: dict[str, float] = {}
    for text, change in made(body, ("out",)).items():
        assert (change.kind, change.detail) == ("host", "unset") and text.count("\n") == body.count("\n") + 1
        line = next(row for row in text.split("\n") if row not in body)
        assert text.index(line) < text.index({5: "j<<<", 6: "k<<<"}[change.line])
        costs[line] = change.cost
    assert next(iter(costs)) == "cudaMemset(sums, 0, 4 * n);"
    assert min(costs, key=lambda line: costs[line]) == "cudaMemset(out, 0, sizeof(*out));"
    assert "cudaMemcpy(out, sums, sizeof(*out), cudaMemcpyDeviceToDevice);" in costs
    assert not any("(in," in line for line in costs)
