"""Dynamic shared memory whose text does not tell how it follows from a size, by what launches were seen with."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.lab import formula, labs
from grader.submission.binding.bind import bind
from grader.submission.folder import find_sources, read_sources
from grader.submission.kernels.records import Observed, SeenArgument, SeenLaunch, SeenRun
from grader.submission.records import VariantBinding

PROGRAM = """\
__global__ void square_shared(const float *in, float *out, int n, int count)
{
    extern __shared__ float cells[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) for (int k = 0; k < n * n; k++) { cells[threadIdx.x * n * n + k] = in[i * n * n + k];
        out[i * n * n + k] = cells[threadIdx.x * n * n + k]; }
}
int main()
{
    for (int n = 2; n < 11; n++) square_shared<<<4, 32, plan.bytes(n)>>>(d_in, d_out, n, 128);
}
"""


def launch(n: int, held: int) -> SeenLaunch:
    arrays = [SeenArgument(name, "float*", buffer=f"d_{name}", buffer_bytes=512 * n * n) for name in ("in", "out")]
    given = (*arrays, SeenArgument("n", "int", n), SeenArgument("count", "int", 128))
    return SeenLaunch("square_shared", (), "batch.cu", 10, (4, 1, 1), (32, 1, 1), held, given)


@pytest.mark.parametrize(
    ("bytes_at", "wanted"),
    [
        ({n: 128 * (n * n | 1) for n in (2, 5, 10)}, {2: 640, 3: 3200, 5: 3200, 7: 12928, 10: 12928}),
        ({n: 128 * (n * n | 1) for n in range(2, 11)}, {2: 640, 10: 12928}),
        (dict.fromkeys((2, 5, 10), 4096), {2: 4096, 10: 4096}),
    ],
)
def test_between_sizes_that_were_seen_it_is_as_much_as_at_the_larger(
    bytes_at: dict[int, int], wanted: dict[int, int], tmp_path: Path
) -> None:
    (tmp_path / "batch.cu").write_text(PROGRAM)
    lab = labs.find("batch-square")
    found = find_sources(tmp_path / "batch.cu", lab.id, {lab.id})
    launches = tuple(launch(n, held) for n, held in bytes_at.items())
    observed = Observed((SeenRun(("batch.cu",), launches, ended=True),))
    binding = bind(found, read_sources(found), lab, observed=observed).bindings["shared"]
    assert isinstance(binding, VariantBinding)
    plan = binding.interpretations[0].launch
    given = {
        n: formula.integer(plan.shared_formula, {"n": n, "threads": 32}) if plan.shared_formula else plan.shared_bytes
        for n in wanted
    }
    assert given == wanted
    # Nowhere less than the program was seen with.
    assert all(
        formula.integer(plan.shared_formula or "4096", {"n": n, "threads": 32}) >= h for n, h in bytes_at.items()
    )
