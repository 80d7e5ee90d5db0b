"""What goes through shared memory for show is told from what the output is made of, however it is mixed in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.ptx.records import Read
from grader.running.explain import _would_do
from tests.marks_only import marks_only

WHOLE = marks_only("transpose")
LAB = replace(WHOLE, variants=tuple(v for v in WHOLE.variants if v.name == "shared"))
KERNEL = """
__global__ void shared(const float *src, float *dst, int rows, int cols)
{
    __shared__ float tile[32][32], half_tile[32][32];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    float x = 0.0f;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = x = src[r * cols + c];
    else
        tile[threadIdx.y][threadIdx.x] = 0.0f;
    half_tile[threadIdx.y][threadIdx.x] = 0.5f * x;
    __syncthreads();
    float t = tile[threadIdx.x][threadIdx.y];
    WRITE
}
"""
OWN = "if (r < rows && c < cols) dst[c * rows + r] = VALUE;"
OTHER = """c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    if (r < cols && c < rows) dst[r * rows + c] = VALUE;"""
DIRECT = ["x + 0 * t", "t == 12345.f ? 0 : x", "fminf(x, fabsf(t) + 1e30f)", "x + (t - t)", "x * (t < 1e30f)"]
DIRECT += [
    "__int_as_float(__float_as_int(x) | (__float_as_int(t) == 0x7fffffff))",
    "x + 1e-30f * t",
    "isnan(t) ? t : x",
]
CHECKED = ["x + (t - 2 * half_tile[threadIdx.x][threadIdx.y])", "t == 2 * half_tile[threadIdx.x][threadIdx.y] ? x : 0"]
"""Values that depend on what is in shared memory, and are made of what the thread has read itself."""
STAGED = ["t", "t + 0 * x", "2 * (0.5f * t)", "__int_as_float(__float_as_int(t) | 0)"]


def technique(folder: Path, write: str) -> tuple[str, str]:
    """The verdict on a kernel that writes so, and its message's id."""
    return judged(folder, KERNEL.replace("WRITE", write))


def judged(folder: Path, text: str) -> tuple[str, str]:
    """The same on a whole program."""
    (folder / "transpose.cu").write_text(text)
    checks = {check.check: check for check in grade(folder, LAB, GradeOptions(backend="emulator")).checks}
    assert checks["correct"].status == "pass", checks["correct"].message
    said = checks["technique"].message_said
    return checks["technique"].status, said.id if said is not None else ""


@pytest.mark.parametrize("value", DIRECT)
def test_a_value_that_changes_nothing_is_not_used(tmp_path: Path, value: str) -> None:
    assert technique(tmp_path, OWN.replace("VALUE", value)) == ("fail", "checks.technique.unused")


@pytest.mark.parametrize("value", CHECKED)
def test_a_value_that_checks_another_is_not_what_the_output_is_made_of(tmp_path: Path, value: str) -> None:
    assert technique(tmp_path, OWN.replace("VALUE", value)) == ("fail", "checks.technique.unused")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("(blockIdx.x + blockIdx.y) & 1", "checks.technique.unused"),
        ("blockIdx.x == 0 && blockIdx.y == 0", "checks.technique.unused"),
        ("rows * cols <= 128 * 64", "checks.technique.unused_at"),
    ],
)
def test_a_tile_for_some_is_none(tmp_path: Path, condition: str, message: str) -> None:
    show = OWN.replace("VALUE", "t == 12345.f ? 0 : x")
    write = f"if ({condition}) {{ {OTHER.replace('VALUE', 't')} }} else {{ {show} }}"
    assert technique(tmp_path, write) == ("fail", message)


HONEST = {
    "bits of numbers": ("int t[32][33]", "t[y][x] = __float_as_int(v)", "__int_as_float(t[x][y])"),
    "halves of numbers": (
        "unsigned short t[2][32][34]",
        "t[0][y][x] = __float_as_uint(v) >> 16; t[1][y][x] = __float_as_uint(v)",
        "__uint_as_float((unsigned)t[0][x][y] << 16 | t[1][x][y])",
    ),
    "swizzled": ("float t[32][32]", "t[y][(x + y) & 31] = v", "t[x][(x + y) & 31]"),
    "volatile": ("volatile float t[32][33]", "t[y][x] = v", "t[x][y]"),
    "twice": ("float t[32][33], u[32][33]", "t[y][x] = v; __syncthreads(); u[y][x] = t[x][y]", "u[y][x]"),
    "exchanged by atomics": ("float t[32][33]", "atomicExch(&t[y][x], v)", "t[x][y]"),
    "turned by a shuffle": ("float t[32][33]", "t[y][x] = v", "__shfl_sync(~0u, t[31 - x][y], 31 - x)"),
    "kept in a struct": ("struct { float a[32][33]; } t", "t.a[y][x] = v", "t.a[x][y]"),
}


@pytest.mark.parametrize("name", HONEST)
def test_unusual_tiles_are_tiles(tmp_path: Path, name: str) -> None:
    declared, put, got = HONEST[name]
    text = f"""
__global__ void shared(const float *src, float *dst, int rows, int cols)
{{
    __shared__ {declared};
    int x = threadIdx.x, y = threadIdx.y, c = blockIdx.x * 32 + x, r = blockIdx.y * 32 + y;
    float v = r < rows && c < cols ? src[r * cols + c] : 0;
    {put};
    __syncthreads();
    v = {got};
    c = blockIdx.y * 32 + x, r = blockIdx.x * 32 + y;
    if (r < cols && c < rows) dst[r * rows + c] = v;
}}
"""
    assert judged(tmp_path, text) == ("pass", "checks.technique.passed")


BATCH = """
extern __shared__ float room[];
__global__ void shared(const float *in, float *out, int n, int count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count) return;
    float own[100], *copy = room + threadIdx.x * n * n;
    for (int e = 0; e < n * n; e++) copy[e] = own[e] = in[id * n * n + e];
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += FROM[r * n + k] * FROM[k * n + c];
            out[id * n * n + r * n + c] = sum + 0 * copy[r * n + c];
        }
}
int main()
{
    float *a, *b;
    int n = 5, count = 1000;
    cudaMalloc(&a, count * n * n * 4);
    cudaMalloc(&b, count * n * n * 4);
    shared<<<(count + 127) / 128, 128, 128 * n * n * 4>>>(a, b, n, count);
}
"""


@pytest.mark.parametrize(("source", "status"), [("own", "fail"), ("copy", "pass")])
def test_a_copy_of_ones_own_is_looked_at_too(tmp_path: Path, source: str, status: str) -> None:
    batch = marks_only("batch-square")
    lab = replace(batch, variants=tuple(v for v in batch.variants if v.name == "shared"))
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / "batch.cu").write_text(BATCH.replace("FROM", source))
    checks = {check.check: check for check in grade(tmp_path / "student", lab, GradeOptions(backend="emulator")).checks}
    assert (checks["correct"].status, checks["technique"].status) == ("pass", status)


UNROLLED = (
    BATCH.replace("int n, int count)", "int count)", 1)
    .replace("__global__", "template <int n> __global__")
    .replace("for (int", '_Pragma("unroll") for (int')
    .replace("n * n * 4>>>(a, b, n, count)", "n * n * 4>>>(a, b, count)")
    .replace("shared<<<", "shared<5><<<")
    .replace("int n = 5, ", "const int n = 5; int ")
)


@pytest.mark.parametrize(("source", "message"), [("own", "part"), ("copy", "forwarded")])
def test_reads_that_the_compiler_takes_from_registers(tmp_path: Path, source: str, message: str) -> None:
    """Compiled, both are the same: what the text reads decides."""
    batch = marks_only("batch-square")
    lab = replace(batch, variants=tuple(v for v in batch.variants if v.name == "shared"))
    (tmp_path / "student").mkdir()
    (tmp_path / "student" / "batch.cu").write_text(
        UNROLLED.replace("FROM", source).replace(" + 0 * copy[r * n + c]", "")
    )
    checks = {check.check: check for check in grade(tmp_path / "student", lab, GradeOptions(backend="emulator")).checks}
    said = checks["technique"].message_said
    assert (checks["correct"].status, said.id if said else "") == ("pass", f"checks.technique.{message}")


@pytest.mark.parametrize("value", STAGED)
def test_a_value_that_the_output_is_made_of_is_used(tmp_path: Path, value: str) -> None:
    assert technique(tmp_path, OTHER.replace("VALUE", value)) == ("pass", "checks.technique.passed")


def test_what_a_thread_stages_itself_is_not_all_that_it_reads_directly() -> None:
    def read(array: str, element: int) -> Read:
        return Read(array, "global", 4 * element, 4, 1, (0, 0, 0), (0, 0, 0), "input")

    row, column = np.zeros((2, 2, 2), np.bool_), np.zeros((2, 2, 2), np.bool_)
    row[0, 0], column[:, 0, 0] = True, True
    needed = {"a": row, "b": column}
    whole = [read("a", 0), read("a", 1), read("b", 0), read("b", 4)]
    assert _would_do(whole, needed)
    # More than half of all, and of a no more than half: the rest of that came another way.
    assert not _would_do(whole[1:], needed)
