// The side of a tile comes from the command line, or else is 16.
#include <stdlib.h>

__global__ void mm_shared(const float *A, const float *B, float *C, int n)
{
    extern __shared__ float mem[];
    int S = blockDim.x;
    float *a = mem, *b = &mem[S * S];
    int r = blockIdx.y * S + threadIdx.y, c = blockIdx.x * S + threadIdx.x;
    float s = 0;
    for (int t = 0; t < n; t += S) {
        a[threadIdx.y * S + threadIdx.x] = r < n && t + threadIdx.x < n ? A[r * n + t + threadIdx.x] : 0;
        b[threadIdx.y * S + threadIdx.x] = c < n && t + threadIdx.y < n ? B[(t + threadIdx.y) * n + c] : 0;
        __syncthreads();
        for (int k = 0; k < S; ++k) s += a[threadIdx.y * S + k] * b[k * S + threadIdx.x];
        __syncthreads();
    }
    if (r < n && c < n) C[r * n + c] = s;
}

int main(int argc, char **argv)
{
    int n = 500, S = argc > 1 ? atoi(argv[1]) : 16;
    float *A, *B, *C;
    cudaMalloc(&A, n * n * 4);
    cudaMalloc(&B, n * n * 4);
    cudaMalloc(&C, n * n * 4);
    dim3 grid((n + S - 1) / S, (n + S - 1) / S), block(S, S);
    mm_shared<<<grid, block, 2 * S * S * sizeof(float)>>>(A, B, C, n);
}
