"""What is told of faults in whole programs too small for a folder of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.programs.observe import observe


@pytest.mark.slow
def test_an_access_far_beyond_shared_memory_is_no_address_of_the_host(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("""
__global__ void spread(float *out, const float *in) {
    __shared__ float tile[32 * 32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y, width = gridDim.x * 32;
    for (int i = 0; i < 32; i += 8)
        tile[(threadIdx.y + i) * 32 * threadIdx.x] = in[(y + i) * width + x];
    __syncthreads();
    for (int i = 0; i < 32; i += 8)
        out[(y + i) * width + x] = tile[(threadIdx.y + i) * 32 + threadIdx.x];
}
int main() {
    const int n = 1024;
    float *out, *in;
    cudaMalloc(&out, n * n * sizeof(float));
    cudaMalloc(&in, n * n * sizeof(float));
    cudaMemset(in, 0, n * n * sizeof(float));
    spread<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(out, in);
    cudaDeviceSynchronize();
}
""")
    told = {finding.message.id for finding in observe([path]).findings if finding.line == 6}
    assert told and not any(name.startswith("programs.") for name in told), told


@pytest.mark.parametrize(
    ("copies", "bytes_copied"),
    [
        # Rows that leave gaps, parts that overlap, the beginning alone.
        ("cudaMemcpy2D(in, 16, host, 16, 4, 8, cudaMemcpyHostToDevice);", 32),
        ("cudaMemcpy(in, host, 40, H); cudaMemcpy(in + 8, host, 40, H);", 72),
        ("cudaMemcpy(in, host, 100, H);", 100),
    ],
)
def test_bytes_that_are_copied_to_an_array_count_once(tmp_path: Path, copies: str, bytes_copied: int) -> None:
    path = tmp_path / "a.cu"
    path.write_text(f"""
#define H cudaMemcpyHostToDevice
__global__ void doubled(const float *in, float *out) {{ out[threadIdx.x] = 2 * in[threadIdx.x]; }}
int main() {{
    float *in, *out, host[32] = {{}};
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    {copies}
    doubled<<<1, 32>>>(in, out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(in);
    cudaFree(out);
}}
""")
    told = [finding.message for finding in observe([path]).findings if finding.message.id == "programs.copy_too_short"]
    assert [(message.data["bytes"], message.data["size"]) for message in told] == [(bytes_copied, 128)]
