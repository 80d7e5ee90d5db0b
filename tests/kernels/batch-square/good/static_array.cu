// Blocks of 64 threads: room for 64 matrices of the largest order fits into a static array; a row stays in registers.
#include <cstdio>
#include <cstdlib>

const int THREADS = 64, MAX_N = 10;

__global__ void square_shared(const float *__restrict__ in, float *__restrict__ out, int n, int count)
{
    __shared__ float copies[THREADS * MAX_N * MAX_N];
    const int matrix = blockIdx.x * THREADS + threadIdx.x;
    float *own = copies + threadIdx.x * n * n;
    if (matrix < count) {
        for (int i = 0; i < n * n; i++)
            own[i] = in[matrix * n * n + i];
        for (int row = 0; row < n; row++) {
            float sums[MAX_N];
            for (int j = 0; j < MAX_N; j++)
                sums[j] = 0.0f;
            for (int k = 0; k < n; k++)
                for (int j = 0; j < n; j++)
                    sums[j] += own[row * n + k] * own[k * n + j];
            for (int j = 0; j < n; j++)
                out[matrix * n * n + row * n + j] = sums[j];
        }
    }
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 5, count = argc > 2 ? atoi(argv[2]) : 1000;
    const size_t bytes = (size_t)count * n * n * sizeof(float);
    float *in, *out;
    if (cudaMalloc(&in, bytes) != cudaSuccess || cudaMalloc(&out, bytes) != cudaSuccess)
        return 1;
    cudaMemset(in, 0, bytes);
    square_shared<<<(count + THREADS - 1) / THREADS, THREADS>>>(in, out, n, count);
    cudaError_t status = cudaGetLastError();
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(status));
    cudaFree(in);
    cudaFree(out);
    return status != cudaSuccess;
}
