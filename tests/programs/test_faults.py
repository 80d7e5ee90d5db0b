"""What a kernel that ends by a fault is told, of whole programs too small for a folder of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.programs.observe import observe


@pytest.mark.slow
def test_an_access_far_beyond_shared_memory_is_no_address_of_the_host(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("""
__global__ void spread(float *out) {
    __shared__ float tile[32 * 32];
    tile[threadIdx.x * 32 * 32] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}
int main() {
    float *out;
    cudaMalloc(&out, 64 * sizeof(float));
    spread<<<1, 64>>>(out);
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 1;
}
""")
    found = observe([path])
    assert found.exit == 0
    assert [launch.status for launch in found.launches] == ["faulted"]
    told = [f for f in found.findings if f.line == 4]
    assert told and all(f.message.id.startswith("faults.") for f in told)
