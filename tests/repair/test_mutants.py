"""Good kernels with one fault each, graded: what the hint says, and that what is offered as a change makes them right.

A sample of what `benchmarks/hints.py` goes through, with its exact outcomes; the benchmark prints the table of all.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import hints

pytestmark = pytest.mark.slow

# The file and the line of the fault, its kind, and what the line became; what came of it and the line that is named.
SAMPLE = [
    ("transpose/blocks_8x8.cu", 6, "guard", "if (true)", "fails", 6),
    ("transpose/blocks_8x8.cu", 19, "comparison", "if (r < cols && c > rows)", "fails", 19),
    ("transpose/float4.cu", 12, "barrier", "if (threadIdx.x < 16) __syncthreads();", "fails", 12),
    ("transpose/template_tile.cu", 10, "guard", "if (y + i < rows)", "fails", 10),
    ("transpose/loop_32x8.cu", 16, "comparison", "for (int j = 0; j <= TILE_DIM; j += BLOCK_ROWS)", "fails", 16),
    ("transpose/lecture.cu", 34, "index", "j = threadIdx.y + blockIdx.y * blockDim.y;", "fails", 34),
    ("transpose/shuffled_stores.cu", 4, "pad", "__shared__ float tile[31][33];", "fails", None),
    ("matmul/blocks_4x4.cu", 6, "comparison", "if (col >= n || row > n)", "fails", 6),
    ("box-blur/template_radius.cu", 6, "comparison", "if (i > size)", "fails", 6),
    ("batch-square/constant_size.cu", 11, "zero", "for (int c = 1; c < N; c++) {", "fails", 11),
    ("batch-square/opt_in.cu", 16, "index", "out[m * n * n + i * n + i] = s;", "fails", 16),
    ("transpose/block_a_row.cu", 5, "index", "b[j * n + blockIdx.y] = a[blockIdx.x * m + j];", "fails", 5),
    ("transpose/constants_and_globals.cu", 12, "index", "At[row][col] = A[row][col];", "fails", 12),
    ("transpose/dynamic_shared.cu", 7, "index", "int r = blockIdx.x * side + threadIdx.y;", "fails", 7),
    ("transpose/kernel_macro.cu", 11, "guard", "if (y < rows) out[x * rows + y] = in[y * cols + x];", "fails", 11),
    ("transpose/xor_swizzle.cu", 7, "guard", "if (col < cols)", "fails", 7),
    ("matmul/double_precision.cu", 6, "guard", "{", "fails", 5),
    ("matmul/dynamic_block.cu", 9, "zero", "float sum;", "fails", 9),
    ("transpose/loop_32x8.cu", 10, "comparison", "for (int j = 0; j > TILE_DIM; j += BLOCK_ROWS)", "fails", 10),
    ("box-blur/template_radius.cu", 9, "comparison", "if (i > R && i < size - R) {", "fails", 9),
    # The fault shows in a value only where a run takes too long for a search: a smaller one shows an access outside.
    (
        "matmul/constant_with_pointers.cu",
        20,
        "comparison",
        "for (int col = threadIdx.x; col <= SIZE; col += blockDim.x) {",
        "fails",
        20,
    ),
    ("transpose/xor_swizzle.cu", 4, "pad", "__shared__ float tile[32][31];", "fails", 4),
    # A loop that is never entered: what makes it right takes far more instructions than it does.
    ("matmul/size_from_command_line.cu", 11, "comparison", "for (int t = 0; t > n; t += S) {", "fails", 11),
    # Of two arrays in one block of shared memory the one that was filled wrongly.
    (
        "matmul/dynamic_block.cu",
        11,
        "index",
        "ta[x * s + y] = row < n && m + x < n ? A[row * n + m + x] : 0.f;",
        "fails",
        11,
    ),
]
assert {row[2] for row in SAMPLE} == set(hints.KINDS)


def mended(text: str, diff: list[str]) -> str:
    """`text` with a unified diff made in it."""
    rows, made, place = text.split("\n"), [], 0
    for row in diff:
        head = re.match(r"@@ -(\d+)", row)
        if head is not None:
            start = int(head.group(1)) - 1
            made += rows[place:start]
            place = start
        elif row.startswith("+"):
            made.append(row[1:])
        else:
            assert rows[place] == row[1:]
            made += [row[1:]] if row.startswith(" ") else []
            place += 1
    return "\n".join([*made, *rows[place:]])


@pytest.mark.parametrize(
    ("file", "line", "kind", "now", "what", "named"), SAMPLE, ids=[f"{row[0]}:{row[1]}-{row[2]}" for row in SAMPLE]
)
def test_the_fault_is_named_and_the_change_that_is_offered_mends_it(
    file: str, line: int, kind: str, now: str, what: str, named: int | None
) -> None:
    lab, name = file.split("/")
    (mutant,) = (
        m
        for m in hints.mutants(lab, hints.KERNELS / lab / "good" / name)
        if (m.line, m.kind, m.now) == (line, kind, now)
    )
    known = hints.failing(lab, name)
    result = hints.graded(mutant)
    assert hints.judged(mutant, result, known) == (what, named, named is not None)
    for repair in {tuple(c.repair.diff): c.repair for c in result.checks if c.repair is not None}.values():
        again = hints.graded(replace(mutant, text=mended(mutant.text, repair.diff)), repairs=False)
        assert {c.id for c in again.checks if c.status == "fail"} <= known | {
            c.id for c in again.checks if c.check == "present"
        }
