"""The `if` that a barrier stands in."""

from __future__ import annotations

import pytest

from grader.submission.cpp.scopes import branch_around

SOURCE = """__global__ void k(int *a, int n)
{
    if (threadIdx.x >= n)
        return;
    __syncthreads();
    if (n > 3) {
        for (int i = 0; i < n; ++i) {
            a[i] = i;
            __syncthreads();
        }
        if (n > 4) __syncthreads();
        cg::this_thread_block().sync();
    }
    f(a);
}
"""


@pytest.mark.parametrize(("line", "branch"), [(5, None), (9, 6), (11, 11), (12, 6), (14, None), (99, None)])
def test_the_innermost_branch_is_told(line: int, branch: int | None) -> None:
    assert branch_around("k.cu", SOURCE, line) == branch


def test_of_what_cannot_be_read_nothing_is_told() -> None:
    assert branch_around("k.cu", "{" * 100_000, 1) is None
