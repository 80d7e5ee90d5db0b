// n / BLOCK tiles: the rest of a row is left out, and barriers stand under the guard.
#define BLOCK 16
__global__ void multiplyShared(float *a, float *b, float *c, int n)
{
    __shared__ float sa[BLOCK][BLOCK];
    __shared__ float sb[BLOCK][BLOCK];
    int x = threadIdx.x + blockIdx.x * blockDim.x;
    int y = threadIdx.y + blockIdx.y * blockDim.y;
    float sum = 0;
    if (x < n && y < n) {
        for (int t = 0; t < n / BLOCK; t++) {
            sa[threadIdx.y][threadIdx.x] = a[y * n + t * BLOCK + threadIdx.x];
            sb[threadIdx.y][threadIdx.x] = b[(t * BLOCK + threadIdx.y) * n + x];
            __syncthreads();
            for (int k = 0; k < BLOCK; k++)
                sum += sa[threadIdx.y][k] * sb[k][threadIdx.x];
            __syncthreads();
        }
        c[y * n + x] = sum;
    }
}
