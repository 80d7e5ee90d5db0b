"""Numbers that a kernel takes, by the values that a program was seen to hand in."""

from __future__ import annotations

import pytest

from grader.lab.labs import find
from grader.submission.binding.roles import agreeing, by_value, sizes_in
from grader.submission.kernels.records import KernelParameter

BLUR = find("box-blur")
BATCH = find("batch-square")


def scalar(name: str, dtype: str = "int32") -> KernelParameter:
    return KernelParameter(name, dtype, False, False, dtype)


@pytest.mark.parametrize(
    ("names", "values", "first", "also"),
    [
        (["radius", "n"], [2, 4096], ("radius", "count"), None),
        (["a", "b"], [4096, 3], ("count", "radius"), None),
        # What no name tells is tried both ways.
        (["window", "len"], [5, 4096], ("radius", "count"), ("=2 * radius + 1", "count")),
        (["len", "block"], [4096, 256], ("count", "radius"), ("count", "=256")),
        (["n", "scale"], [4096, 0.2], ("count", "=1 / (2 * radius + 1)"), None),
        (["r", "threads", "len"], [2, 128, 4096], ("radius", "=128", "count"), None),
    ],
)
def test_no_size_has_two_values_and_arrays_have_their_lengths(
    names: list[str], values: list[float], first: tuple[str, ...], also: tuple[str, ...] | None
) -> None:
    arrays = [(BLUR.parameter("in"), 4096), (BLUR.parameter("out"), 4096)]
    types = ["float32" if isinstance(value, float) else "int32" for value in values]
    found = by_value([scalar(n, t) for n, t in zip(names, types, strict=True)], values, arrays, BLUR)
    assert found[0] == first
    assert also is None or also in found


def test_a_length_is_told_by_its_formula() -> None:
    arrays = [(BATCH.parameter("in"), 9 * 512), (BATCH.parameter("out"), 9 * 512)]
    found = by_value([scalar("n"), scalar("batch"), scalar("total")], [3, 512, 9 * 512], arrays, BATCH)
    assert found[0] == ("n", "count", "=count * n * n")
    assert sizes_in(found[0], BATCH) == {"n", "count"}


def test_names_that_contradict_the_values_are_dropped() -> None:
    arrays = [(BLUR.parameter("in"), 64)]
    orders = [("count", "radius"), ("radius", "count"), ("count", "count")]
    assert agreeing(orders, [2, 64], arrays) == [("radius", "count")]
