"""Dynamic shared memory whose text does not tell how it follows from a size, by what launches were seen with."""

from __future__ import annotations

from grader.submission.kernels.records import SeenArgument, SeenLaunch

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
