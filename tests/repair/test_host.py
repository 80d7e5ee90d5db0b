"""Faults of host code: the change that is found is the mistake, and says by what it is known to be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repair.conftest import Grade

HEAD = """#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
__global__ void transposeNaive(const float *in, float *out, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}
int main() {
    const int rows = 100, cols = 72, count = rows * cols, bytes = count * sizeof(float);
    std::vector<float> h(count), spare(count), back(count);
    for (int i = 0; i < count; i++) h[i] = i;
    float *d, *e;
    cudaMalloc(&d, bytes);
    cudaMalloc(&e, bytes);
    cudaMemcpy(d, h.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemset(e, 0, bytes);
    dim3 block(16, 16), grid((cols + 15) / 16, (rows + 15) / 16);
    transposeNaive<<<grid, block>>>(d, e, rows, cols);
    if (cudaGetLastError() != cudaSuccess) return 1;
    cudaMemcpy(back.data(), e, bytes, cudaMemcpyDeviceToHost);
"""
SAYS = """    bool good = true;
    for (int i = 0; i < count; i++) good = good && back[i] == h[i % rows * cols + i / rows];
    printf("naive: %s\\n", good ? "OK" : "WRONG");
}
"""
SILENT = """    for (int i = 0; i < count; i++) if (back[i] != h[i % rows * cols + i / rows]) return 1;
}
"""
OWN = "and the program's own check then calls the results right; it was compiled and run."
RUN = "One change there removes this fault; the program was compiled and run."
# What is right, what stands in its place, the check, how the hint begins.
FAULTS = {
    "elements for bytes": (
        ("e, bytes, cudaMemcpyDeviceToHost", "e, count, cudaMemcpyDeviceToHost", "host_code"),
        "The size in line 20 is given in elements: it has to be in bytes.",
    ),
    "target and source": (
        ("cudaMemcpy(back.data(), e,", "cudaMemcpy(back.data(), d,", "host_code"),
        "The copy in line 20 comes from the wrong place.",
    ),
    "an array of half the size": (
        ("cudaMalloc(&e, bytes);", "cudaMalloc(&e, bytes / 2);", "host_code"),
        "The size in line 14 is wrong.",
    ),
    "the sizes of a launch": (
        ("(d, e, rows, cols);", "(d, e, cols, rows);", "launch"),
        "Two arguments of the launch in line 18 are swapped.",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("tail", [SAYS, SILENT], ids=["says", "silent"])
@pytest.mark.parametrize(("fault", "wanted"), FAULTS.values(), ids=FAULTS)
def test_the_mistake_is_what_is_mended(
    fault: tuple[str, str, str], wanted: str, tail: str, tmp_path: Path, graded: Grade
) -> None:
    right, wrong, name = fault
    path = tmp_path / "transpose.cu"
    path.write_text(HEAD.replace(right, wrong) + tail)
    result = graded("transpose", path)
    failed = next(c for c in result.checks if c.variant == "naive" and c.check == name)
    assert failed.status == "fail"
    assert failed.hint.startswith(wanted)
    # Beyond an array that is too small lies memory of nobody here: the results are right.
    assert (OWN if tail is SAYS and "too small" not in failed.message else RUN) in failed.hint
    assert failed.repair is not None
    changed = [line for line in failed.repair.diff if line[:1] in "+-"]
    assert [line[:1] for line in changed] == ["-", "+"]
    assert "count * sizeof(float), cudaMemcpyDeviceToHost" in changed[1] or right in changed[1]


REFERENCE = """void onHost(const float *in, float *t, int rows, int cols) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) t[c * rows + r] = in[r * cols + c];
}
int main() {"""
COMPARES = """    onHost(h.data(), spare.data(), rows, cols);
    int bad = 0;
    for (int i = 0; i < count; i++) bad += back[i] != spare[i];
    printf("naive: %d wrong elements\\n", bad);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "hint"),
    [
        (
            "c++) t[c * rows + r]",
            "c++) t[c * cols + r]",
            f"An index in line 10 is wrong. The wrong name there is cols. One change there removes this fault, {OWN}",
        ),
        ("c < cols; c++) t", "c < cols - 1; c++) t", "The end of the loop in line 10 is wrong."),
    ],
)
def test_a_wrong_reference_is_no_kernels_fault(
    right: str, wrong: str, hint: str, tmp_path: Path, graded: Grade
) -> None:
    path = tmp_path / "transpose.cu"
    path.write_text((HEAD.replace("int main() {", REFERENCE) + COMPARES).replace(right, wrong))
    result = graded("transpose", path)
    (failed,) = (c for c in result.checks if c.variant == "naive" and c.status == "fail")
    assert (failed.check, failed.line, failed.earned) == ("host_code", 8, 1.0)
    assert "it compares with what onHost() computes (line 8)." in failed.message
    assert failed.hint.startswith(hint), failed.hint
    if failed.repair is not None:
        assert [line.strip("+ ") for line in failed.repair.diff if line[0] == "+"] == [
            line.strip() for line in REFERENCE.split("\n") if right in line
        ]


@pytest.mark.slow
def test_no_reference_is_changed_to_agree_with_results_that_nobody_copies_back(tmp_path: Path, graded: Grade) -> None:
    lines = (HEAD.replace("int main() {", REFERENCE) + COMPARES).splitlines(keepends=True)
    path = tmp_path / "transpose.cu"
    path.write_text("".join(line for line in lines if "DeviceToHost" not in line))
    (failed,) = (c for c in graded("transpose", path).checks if c.variant == "naive" and c.status == "fail")
    assert failed.check == "host_code"
    assert failed.hint.startswith("A copy of the results to the host is missing after line 25.")
    assert failed.repair is not None
    # A reference that computes nothing would agree as well.
    assert [line for line in failed.repair.diff if line[0] in "+-"] == [
        "+    cudaMemcpy(back.data(), e, bytes, cudaMemcpyDeviceToHost);"
    ]


@pytest.mark.slow
def test_a_check_that_reads_beyond_its_array_is_told_at_its_line(tmp_path: Path, graded: Grade) -> None:
    path = tmp_path / "transpose.cu"
    text = HEAD.replace("int main() {", REFERENCE) + COMPARES
    path.write_text(text.replace("!= spare[i]", "!= spare[i + 1]"))
    (failed,) = (c for c in graded("transpose", path).checks if c.variant == "naive" and c.status == "fail")
    assert (failed.check, failed.line, failed.earned) == ("host_code", 27, 1.0)
    assert "it has 28800 bytes, and byte 28800, counted from 0, is accessed here" in failed.message
    assert failed.hint == "Compare the index with the size of the array: which of the two is wrong?"
    # What compares is left to its author.
    assert failed.repair is None


UNIFIED = """#include <cstdio>
#include <cuda_runtime.h>
__global__ void transposeNaive(const float *in, float *out, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}
__global__ void transposePadded(const float *in, float *out, int rows, int cols) {
    __shared__ float t[16][17];
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (r < rows && c < cols) t[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.x * 16 + threadIdx.y, r = blockIdx.y * 16 + threadIdx.x;
    if (r < rows && c < cols) out[c * rows + r] = t[threadIdx.x][threadIdx.y];
}
static bool right(const float *in, const float *out, int n) {
    for (int i = 0; i < n * n; i++)
        if (out[i] != in[i % n * n + i / n]) return false;
    return true;
}
int main() {
    const int sizes[] = {2048, 4096};
    for (int n : sizes) {
        float *in, *out;
        cudaMallocManaged(&in, n * n * sizeof(float));
        cudaMallocManaged(&out, n * n * sizeof(float));
        for (int i = 0; i < n * n; i++) in[i] = 1 + i % 1000;
        dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
        transposeNaive<<<grid, block>>>(in, out, n, n);
        if (cudaDeviceSynchronize() != cudaSuccess) return 1;
        printf("naive: %s\\n", right(in, out, n) ? "OK" : "WRONG");
        for (int i = 0; i < n * n; i++) out[i] = 0;
        transposePadded<<<grid, block>>>(in, out, n, n);
        if (cudaGetLastError() != cudaSuccess) return 1;
        printf("padded: %s\\n", right(in, out, n) ? "OK" : "WRONG");
        cudaFree(in);
        cudaFree(out);
    }
}
"""


@pytest.mark.slow
def test_a_host_that_does_not_wait_is_told_of_its_kernel_alone_at_a_size_made_smaller(
    tmp_path: Path, graded: Grade
) -> None:
    path = tmp_path / "transpose.cu"
    path.write_text(UNIFIED)
    result = graded("transpose", path)
    failed = {c.variant: c for c in result.checks if c.check == "host_code" and c.status == "fail"}
    assert list(failed) == ["padded"]
    assert failed["padded"].line == 17 and "transposePadded, launched in line 32" in failed["padded"].message
    assert failed["padded"].hint.startswith(f"Before line 34 the program has to wait for the device. {RUN}")
    assert any("2048, 4096" in remark for remark in result.remarks)
