// Who is outside of the input leaves, and the output is not guarded.
__global__ void transpose_sh(const float *a, float *b, int n, int m)
{
    __shared__ float s[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= m || y >= n) return;              
    s[threadIdx.y][threadIdx.x] = a[y * m + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x; y = blockIdx.x * 16 + threadIdx.y;
    b[y * n + x] = s[threadIdx.x][threadIdx.y];
}
