"""Kernels that are other code on newer devices: what copies asynchronously, and what asks for its device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.result import Check, Result
from tests.marks_only import marks_only

WHOLE = marks_only("transpose")


def graded(folder: Path, variant: str, text: str) -> Result:
    lab = replace(WHOLE, variants=tuple(v for v in WHOLE.variants if v.name == variant))
    (folder / "student").mkdir()
    (folder / "student" / "transpose.cu").write_text(text)
    return grade(folder / "student", lab, GradeOptions(backend="emulator"))


def failed(result: Result) -> dict[str, Check]:
    return {check.check: check for check in result.checks if check.status == "fail"}


# -- asynchronous copies -----------------------------------------------------------------------------------------------

COPIED = """{head}
__global__ void shared(const float *in, float *out, int rows, int cols)
{{
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    {before}
    if (r < rows && c < cols)
        {copy}
    {wait}
    __syncthreads();
    {after}
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    if (r < cols && c < rows)
        out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}}
"""
COPY_LINE, READ_LINE = 8, 14
FAMILIES = {
    "primitives": (
        "#include <cuda_pipeline.h>",
        "",
        "__pipeline_memcpy_async(&tile[threadIdx.y][threadIdx.x], &in[r * cols + c], sizeof(float));",
    ),
    "assembly": (
        "",
        "unsigned to = __cvta_generic_to_shared(&tile[threadIdx.y][threadIdx.x]);",
        'asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + r * cols + c));',
    ),
    "a pipeline": (
        "#include <cuda/pipeline>",
        "auto pipe = cuda::make_pipeline(); pipe.producer_acquire();",
        "cuda::memcpy_async(&tile[threadIdx.y][threadIdx.x], &in[r * cols + c], sizeof(float), pipe);",
    ),
    "a group": (
        "#include <cooperative_groups/memcpy_async.h>",
        "auto own = cooperative_groups::tiled_partition<1>(cooperative_groups::this_thread_block());",
        "cooperative_groups::memcpy_async(own, &tile[threadIdx.y][threadIdx.x], &in[r * cols + c], sizeof(float));",
    ),
}
RIGHT = {
    "primitives": "__pipeline_commit(); __pipeline_wait_prior(0);",
    "assembly": 'asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");',
    "a pipeline": "pipe.producer_commit(); pipe.consumer_wait();",
    "a group": "cooperative_groups::wait(own);",
}
FORGOTTEN = {
    "no wait": ("primitives", "__pipeline_commit();"),
    "neither commit nor wait": ("primitives", ""),
    "not committed": ("primitives", "__pipeline_wait_prior(0);"),
    "for all but the last": ("primitives", "__pipeline_commit(); __pipeline_wait_prior(1);"),
    "no wait in assembly": ("assembly", 'asm volatile("cp.async.commit_group;");'),
    "a pipeline that nobody waits for": ("a pipeline", "pipe.producer_commit();"),
    "a group that does not wait": ("a group", ""),
}


def copied(family: str, wait: str, after: str = "") -> str:
    head, before, copy = FAMILIES[family]
    return COPIED.format(head=head, before=before, copy=copy, wait=wait, after=after)


@pytest.mark.parametrize("family", FAMILIES)
def test_copies_that_are_waited_for_earn_all_points(family: str, tmp_path: Path) -> None:
    result = graded(tmp_path, "shared", copied(family, RIGHT[family]))
    assert {check.status for check in result.checks if check.check not in ("launch", "host_code")} == {"pass"}


@pytest.mark.parametrize("name", FORGOTTEN)
def test_a_forgotten_wait_is_told_with_its_lines(name: str, tmp_path: Path) -> None:
    found = failed(graded(tmp_path, "shared", copied(*FORGOTTEN[name])))
    assert found.keys() == {"correct", "races"}
    assert found["races"].line == READ_LINE and found["races"].data["other_line"] == COPY_LINE
    assert f"it began the asynchronous copy in line {COPY_LINE} and has not waited for it" in found["races"].message
    assert found["races"].hint_said is not None and found["races"].hint_said.id == "checks.races.hint_copy"
    # Nothing is said of where the value came from: it was read before the copy had come.
    assert "computed" not in found["correct"].message and "never written" not in found["correct"].message


def test_what_is_seen_on_newer_devices_only_says_so(tmp_path: Path) -> None:
    message = failed(graded(tmp_path, "shared", copied("primitives", "")))["races"].message
    assert message.endswith(
        "This concerns the kernel as compiled for compute capability 8.0, where its code differs from that for older "
        "devices."
    )


def test_a_wait_behind_the_barrier_is_late(tmp_path: Path) -> None:
    text = copied("primitives", "__pipeline_commit();", "__pipeline_wait_prior(0);")
    found = failed(graded(tmp_path, "shared", text))
    assert found.keys() == {"races"}
    assert "no barrier between that thread's wait for the copy and this access" in found["races"].message
    assert (found["races"].line, found["races"].data["other_line"]) == (READ_LINE, COPY_LINE)


BARRIER = """#include <cuda/barrier>
__global__ void shared(const float *in, float *out, int rows, int cols)
{{
    __shared__ float tile[8][9];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    int c = blockIdx.x * 8 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        init(&barrier, 64);
    __syncthreads();
    if (r < rows && c < cols)
        cuda::memcpy_async(&tile[threadIdx.y][threadIdx.x], &in[r * cols + c], sizeof(float), barrier);
    {wait}
    c = blockIdx.y * 8 + threadIdx.x, r = blockIdx.x * 8 + threadIdx.y;
    if (r < cols && c < rows)
        out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}}
int main()
{{
    float *a, *b;
    cudaMalloc(&a, 4 << 12);
    cudaMalloc(&b, 4 << 12);
    shared<<<dim3(8, 8), dim3(8, 8)>>>(a, b, 64, 64);
}}
"""


def test_a_barrier_that_copies_were_given_is_to_be_waited_at(tmp_path: Path) -> None:
    found = failed(graded(tmp_path, "shared", BARRIER.format(wait="__syncthreads();")))
    assert found["races"].line == 15 and found["races"].data["other_line"] == 11


# -- code that asks for its device -------------------------------------------------------------------------------------

ASKING = """{head}
__global__ void naive(const float *in, float *out, int rows, int cols)
{{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) {{
{body}
    }}
}}
"""
MOVE, CLEAR = "out[c * rows + r] = in[r * cols + c];", "out[c * rows + r] = 0;"


def asking(condition: str, then: str, otherwise: str, head: str = "") -> str:
    return ASKING.format(head=head, body=f"#if {condition}\n{then}\n#else\n{otherwise}\n#endif")


RIGHT_ON_OLD_ONES = {
    "one device": (asking("__CUDA_ARCH__ == 750", MOVE, CLEAR), "8.0"),
    "older ones": (asking("__CUDA_ARCH__ < 900", MOVE, CLEAR), "9.0"),
    "all but one": (asking("__CUDA_ARCH__ == 890", CLEAR, MOVE), "8.9"),
    "all but some": (asking("__CUDA_ARCH__ / 10 == 86", CLEAR, MOVE), "8.6"),
    "a pasted name": (
        asking("ARCH == 750", MOVE, CLEAR, "#define CAT(a, b) a##b\n#define ARCH CAT(__CUDA_, ARCH__)"),
        "8.0",
    ),
    "no directive": (ASKING.format(head="", body=f"if (__CUDA_ARCH__ < 800) {MOVE} else {CLEAR}"), "8.0"),
}


@pytest.mark.parametrize("name", RIGHT_ON_OLD_ONES)
def test_right_on_old_devices_alone_is_wrong(name: str, tmp_path: Path) -> None:
    text, device = RIGHT_ON_OLD_ONES[name]
    found = failed(graded(tmp_path, "naive", text))
    assert found.keys() == {"correct"}
    assert found["correct"].data["device"] == device
    assert f"compiled for compute capability {device}," in found["correct"].message


RIGHT_ENOUGH = {
    "two ways": asking("__CUDA_ARCH__ >= 800", MOVE.replace("in[r * cols + c]", "__ldg(in + r * cols + c)"), MOVE),
    "an old function made up for": ASKING.format(
        head="#if __CUDA_ARCH__ < 600\n__device__ double atomicAdd(double *, double) { return 0; }\n#endif", body=MOVE
    ),
    "host and device": ASKING.format(
        head="#ifdef __CUDA_ARCH__\n#define EITHER __device__\n#else\n#define EITHER\n#endif\nEITHER void nothing() {}",
        body=MOVE,
    ),
}


@pytest.mark.parametrize("name", RIGHT_ENOUGH)
def test_code_that_is_right_on_all_devices_is_right(name: str, tmp_path: Path) -> None:
    result = graded(tmp_path, "naive", RIGHT_ENOUGH[name])
    assert not failed(result) and not result.variants["naive"].remarks


@pytest.mark.parametrize("otherwise", ["", "__trap();", CLEAR])
def test_code_for_newer_devices_is_graded_for_these(otherwise: str, tmp_path: Path) -> None:
    result = graded(tmp_path, "naive", asking("__CUDA_ARCH__ >= 800", MOVE, otherwise))
    assert not failed(result)
    assert result.variants["naive"].remarks == [
        "Graded for compute capability 8.0: the kernel is right from there on; for older devices it is compiled to "
        "different code, which is wrong."
    ]


def test_a_program_that_refuses_old_devices_is_compiled_for_newer_ones(tmp_path: Path) -> None:
    text = ASKING.format(head="#if __CUDA_ARCH__ < 800\n#error for newer devices\n#endif", body=MOVE)
    assert not failed(graded(tmp_path, "naive", text))


def test_a_program_that_refuses_newer_devices_does_not_compile_for_them(tmp_path: Path) -> None:
    text = asking("__CUDA_ARCH__ > 750", "\n#error too new", MOVE)
    found = failed(graded(tmp_path, "naive", text))
    assert found.keys() == {"compiles"} and "compute capability 8.0" in found["compiles"].message


def test_wrong_everywhere_is_told_of_the_oldest(tmp_path: Path) -> None:
    found = failed(graded(tmp_path, "naive", asking("__CUDA_ARCH__ >= 800", CLEAR.replace("0;", "1;"), CLEAR)))
    assert "device" not in found["correct"].data


def test_a_tile_for_old_devices_is_no_tile(tmp_path: Path) -> None:
    tile = """
    __shared__ float t[32][33];
    t[threadIdx.y][threadIdx.x] = r < rows && c < cols ? in[r * cols + c] : 0;
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
    if (r < cols && c < rows) out[r * rows + c] = t[threadIdx.x][threadIdx.y];"""
    text = f"""__global__ void shared(const float *in, float *out, int rows, int cols)
{{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
#if __CUDA_ARCH__ == 750{tile}
#else
    if (r < rows && c < cols) {MOVE}
#endif
}}
"""
    found = failed(graded(tmp_path, "shared", text))
    assert found.keys() == {"technique", "coalescing"}
    assert found["technique"].data["device"] == found["coalescing"].data["device"] == "8.0"
