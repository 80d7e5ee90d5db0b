"""A kernel that its program launches in parts, each over some of the same arrays."""

from __future__ import annotations

import pytest

from grader.submission.kernels.records import ObservedRuns, SeenArgument, SeenCopy, SeenLaunch, SeenRun, SeenStep
from grader.submission.records import Interpretation
from tests.submission.binding.kernels import binding
from tests.submission.labs import LINE, bound

KERNEL = """
#define BLOCK 256
__global__ void shared(const float *in, float *out, int n, int start) {
    __shared__ float t[BLOCK];
    int first = start + blockIdx.x * BLOCK, i = first + threadIdx.x;
    t[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    if (i < n) out[i] = 2 * t[threadIdx.x];
}
int main() {
    for (int start = 0; start < n; start += 512) shared<<<512 / 256, 256>>>(d_in, d_out, n, start);
}
"""
SET = SeenCopy("set", "main.cu", 1, "d_out", 2, 4000, is_whole=True, launches=1)


def read(
    *parts: tuple[int, int], n: int = 1000, source: str = KERNEL, copies: tuple[SeenCopy, ...] = (), out: int = 2
) -> Interpretation:
    """The kernel's likeliest reading where launches of so many blocks begin at these elements."""
    launches = []
    for start, blocks in parts:
        arrays = [
            SeenArgument("in", "float const*", buffer="d_in", buffer_bytes=4 * n, serial=1),
            SeenArgument("out", "float*", buffer="d_out", buffer_bytes=4 * n, serial=out),
        ]
        given = (*arrays, SeenArgument("n", "int", n), SeenArgument("start", "int", start))
        launches.append(SeenLaunch("shared", (), "main.cu", 12, (blocks, 1, 1), (256, 1, 1), 0, given))
    order = tuple(SeenStep(place, (1, out, 0, 0)) for place in range(len(parts)))
    run = SeenRun(("main.cu",), tuple(launches), ended=True, order=order, copies=copies)
    return binding(bound(source, LINE, observed=ObservedRuns((run,))), "shared").interpretations[0]


@pytest.mark.parametrize(
    ("parts", "n"),
    [
        (((0, 2), (512, 2)), 1000),
        # The last part has what is left over, or blocks that nothing is left for.
        (((0, 3), (768, 1)), 1000),
        (((0, 2), (512, 2)), 600),
        (((0, 2), (512, 2), (1024, 2)), 1025),
    ],
)
@pytest.mark.parametrize(
    ("written", "per_block"),
    [
        ("start + blockIdx.x * BLOCK", 256),
        ("blockIdx.x * blockDim.x + start", 256),
        ("(blockIdx.x + start) * BLOCK", 1),
    ],
)
def test_parts_one_after_another_are_one_launch(
    parts: tuple[tuple[int, int], ...], n: int, written: str, per_block: int
) -> None:
    source = KERNEL.replace("start + blockIdx.x * BLOCK", written)
    found = read(*((start * per_block // 256, blocks) for start, blocks in parts), n=n, source=source)
    assert found.roles == ("in", "out", "n", "=0")
    assert (found.launch.covers, found.launch.tile, found.launch.grid_formula) == (("n",), (256,), ())


def test_parts_that_leave_out_the_last_elements_leave_them_out_together() -> None:
    found = read((0, 2), (512, 1))
    assert found.roles == ("in", "out", "n", "=0")
    assert found.launch.grid_formula == ("((n) // 256)",)


@pytest.mark.parametrize(
    ("parts", "old", "new", "copies", "out"),
    [
        # A gap, an overlap, no beginning, half a block.
        (((0, 1), (512, 2)), "", "", (), 2),
        (((0, 3), (512, 2)), "", "", (), 2),
        (((256, 2), (512, 2)), "", "", (), 2),
        (((0, 2), (600, 2)), "", "", (), 2),
        # What the first part made is set anew, or read by the second.
        (((0, 2), (512, 2)), "", "", (SET,), 2),
        (((0, 2), (512, 2)), "", "", (), 1),
        # The kernel speaks of its blocks, or of where it begins, in another place as well.
        (((0, 2), (512, 2)), "if (i < n)", "if (i < n && blockIdx.x < 2)", (), 2),
        (((0, 2), (512, 2)), "out[i] =", "out[i - start] =", (), 2),
        (((0, 2), (512, 2)), "if (i < n)", "if (i < n / gridDim.x)", (), 2),
        (((0, 2), (512, 2)), "#define BLOCK 256", "#define BLOCK 256\n#define B blockIdx.x", (), 2),
        (((0, 2), (512, 2)), "start + blockIdx.x * BLOCK", "start * threadIdx.x + blockIdx.x * BLOCK", (), 2),
        (((0, 2), (512, 2)), "start + blockIdx.x * BLOCK", "blockIdx.x * BLOCK - start", (), 2),
    ],
)
def test_other_launches_stay_as_they_are(
    parts: tuple[tuple[int, int], ...], old: str, new: str, copies: tuple[SeenCopy, ...], out: int
) -> None:
    source = KERNEL.replace(old, new) if old else KERNEL
    # One launch of all their blocks would cover every element.
    assert read(*parts, source=source, copies=copies, out=out).launch.grid_formula != ()
