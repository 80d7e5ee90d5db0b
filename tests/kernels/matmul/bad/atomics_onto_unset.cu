// Every block adds its part of the sum to C, which nobody has set to zero.
#define TILE 16
__global__ void matmul_block(const float *a, const float *b, float *c, int n)
{
    __shared__ float s[TILE][TILE], t[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    for (int first = 0; first < n; first += TILE) {
        s[threadIdx.y][threadIdx.x] = row < n && first + threadIdx.x < n ? a[row * n + first + threadIdx.x] : 0;
        t[threadIdx.y][threadIdx.x] = first + threadIdx.y < n && col < n ? b[(first + threadIdx.y) * n + col] : 0;
        __syncthreads();
        float sum = 0;
        for (int k = 0; k < TILE; ++k)
            sum += s[threadIdx.y][k] * t[k][threadIdx.x];
        if (row < n && col < n)
            atomicAdd(&c[row * n + col], sum);
        __syncthreads();
    }
}
