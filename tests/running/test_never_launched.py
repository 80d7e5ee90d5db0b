"""The launch of another kernel that stands in the place of one that is never launched."""

from __future__ import annotations

import pytest

from grader.running.evidence import Instead
from grader.running.own_program import launched_instead
from grader.submission.kernels.records import Kernel, SeenCopy, SeenLaunch, SeenRun, SeenStep

LINES = {"naive": 1, "shared": 10, "padded": 20}
KERNELS = {name: Kernel(name, "t.cu", line, line + 5, (), (), (), is_empty=False) for name, line in LINES.items()}


def run(*events: str | tuple[str, int]) -> SeenRun:
    """A run that launched kernels in these lines; "out" is a copy to the host."""
    launches: list[SeenLaunch] = []
    copies: list[SeenCopy] = []
    for event in events:
        if isinstance(event, str):
            copies.append(SeenCopy(event, "t.cu", 90, "b", 1, 4, is_whole=True, launches=len(launches)))
        else:
            name, bracket, inner = event[0].partition("<")
            arguments = (inner.rstrip(">"),) if bracket else ()
            launches.append(SeenLaunch(name, arguments, "t.cu", event[1], (1, 1, 1), (1, 1, 1), 0, ()))
    order = tuple(SeenStep(number, ()) for number in range(len(launches)))
    return SeenRun(("t.cu",), tuple(launches), ended=True, order=order, copies=tuple(copies))


@pytest.mark.parametrize(
    ("missing", "events", "wanted"),
    [
        (
            "padded",
            [("naive", 50), "out", ("shared", 60), "out", ("shared", 70), "out"],
            Instead("t.cu", 70, "shared", 60),
        ),
        ("naive", [("shared", 50), "out", ("shared", 60), ("padded", 70), "out"], Instead("t.cu", 50, "shared", 60)),
        (
            "shared",
            [("naive", 50), "out", ("padded<1>", 60), "out", ("padded<1>", 70)],
            Instead("t.cu", 60, "padded<1>", 70),
        ),
    ],
    ids=["copied from the one before", "the first of all", "an instance of a template"],
)
def test_the_line_that_is_meant_for_a_kernel_is_told(
    missing: str, events: list[str | tuple[str, int]], wanted: Instead
) -> None:
    assert launched_instead([run(*events)], KERNELS[missing], KERNELS.values()) == wanted


@pytest.mark.parametrize(
    "events",
    [
        [("naive", 50), ("shared", 60), "out", ("shared", 60), "out", ("naive", 50)],
        [("shared", 50), ("shared", 60), "out", ("naive", 70), "out"],
        [("shared", 50), "out", ("shared", 60)],
        [("naive", 40), "out", ("padded<0>", 50), "out", ("padded<2>", 60)],
    ],
    ids=["in a loop", "one to warm up", "too few for each kernel", "two instances"],
)
def test_a_launch_that_has_another_reason_is_not(events: list[str | tuple[str, int]]) -> None:
    missing = "padded" if ("padded<0>", 50) not in events else "shared"
    assert launched_instead([run(*events)], KERNELS[missing], KERNELS.values()) is None
