// The tiled product, eight steps written out.
#define TS 16
__global__ void matmul_block_unroll8(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[TS][TS], b[TS][TS];
    const int x = threadIdx.x, y = threadIdx.y, j = blockIdx.x * TS + x, i = blockIdx.y * TS + y;
    float s = 0;
    for (int m = 0; m < n; m += TS) {
        a[y][x] = i < n && m + x < n ? A[i * n + m + x] : 0;
        b[y][x] = m + y < n && j < n ? B[(m + y) * n + j] : 0;
        __syncthreads();
        for (int k = 0; k < TS; k += 8) {
            s += a[y][k] * b[k][x] + a[y][k + 1] * b[k + 1][x];
            s += a[y][k + 2] * b[k + 2][x] + a[y][k + 3] * b[k + 3][x];
            s += a[y][k + 4] * b[k + 4][x] + a[y][k + 5] * b[k + 5][x];
            s += a[y][k + 6] * b[k + 6][x] + a[y][k + 7] * b[k + 7][x];
        }
        __syncthreads();
    }
    if (i < n && j < n)
        C[i * n + j] = s;
}
