"""How far apart rows lie in memory, where a kernel is told."""

from __future__ import annotations

import pytest

from grader.submission.binding.roles import pitched
from grader.submission.kernels.records import KernelParameter, SeenArgument
from tests.submission.labs import FLIP

POINTERS = [
    KernelParameter("in", "const float *", True, True, "float32"),
    KernelParameter("out", "float *", True, False, "float32"),
]


@pytest.mark.parametrize(
    ("numbers", "bytes_in", "bytes_out", "expected"),
    [
        # In bytes, whatever they are called; in elements, where they are called so.
        (
            {"p": 1024, "q": 1536, "rows": 300, "cols": 200},
            1024 * 300,
            1536 * 200,
            ("=cols * 4", "=rows * 4", "rows", "cols"),
        ),
        ({"h": 300, "w": 200, "pitch": 256, "stride": 384}, 1024 * 300, 1536 * 200, ("rows", "cols", "=cols", "=rows")),
        # Of one matrix alone: the other has no gaps.
        ({"rows": 300, "cols": 200, "ld": 256}, 1024 * 300, 800 * 300, ("rows", "cols", "=cols")),
        # No pitch, a shorter one than a row, and one that does not make the matrix as large as it is.
        ({"rows": 300, "cols": 200}, 800 * 300, 800 * 300, None),
        ({"rows": 300, "cols": 200, "steps": 7}, 800 * 300, 800 * 300, None),
        ({"rows": 300, "cols": 200, "ld": 128}, 512 * 300, 800 * 300, None),
        ({"rows": 300, "cols": 200, "ld": 256}, 2048 * 300, 800 * 300, None),
    ],
)
def test_a_pitch_is_known_by_what_it_makes_of_the_matrix(
    numbers: dict[str, int], bytes_in: int, bytes_out: int, expected: tuple[str, ...] | None
) -> None:
    scalars = [KernelParameter(name, "int", False, False, "int32") for name in numbers]
    seen = {name: SeenArgument(name, "int", value) for name, value in numbers.items()}
    seen["in"] = SeenArgument("in", "const float *", buffer="a", buffer_bytes=bytes_in)
    seen["out"] = SeenArgument("out", "float *", buffer="b", buffer_bytes=bytes_out)
    assert next(iter(pitched(scalars, POINTERS, ("in", "out"), seen, FLIP)), None) == expected
