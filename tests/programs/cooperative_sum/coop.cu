#include <cooperative_groups.h>
#include <cstdio>
#include <vector>
namespace cg = cooperative_groups;

// two phases in one launch: partial sums, a barrier of the whole grid, their sum
__global__ void sumAll(const int* in, int* partial, int* out, int n)
{
    cg::grid_group grid = cg::this_grid();
    __shared__ int s[64];
    int mine = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) mine += in[i];
    s[threadIdx.x] = mine;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
    grid.sync();
    if (grid.thread_rank() == 0) {
        int total = 0;
        for (int b = 0; b < gridDim.x; ++b) total += partial[b];
        *out = total;
    }
}

int main()
{
    int supported = 0, perSM = 0;
    cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perSM, sumAll, 64, 0);
    if (!supported || perSM < 1) { std::puts("not supported"); return 0; }
    int n = 3000;
    std::vector<int> h(n);
    for (int i = 0; i < n; ++i) h[i] = i % 10;
    int *in, *partial, *out, result = 0;
    cudaMalloc(&in, n * sizeof(int));
    cudaMalloc(&partial, 8 * sizeof(int));
    cudaMalloc(&out, sizeof(int));
    cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    void* args[] = {&in, &partial, &out, &n};
    cudaError_t e = cudaLaunchCooperativeKernel((void*)sumAll, dim3(8), dim3(64), args);
    std::printf("%s\n", cudaGetErrorName(e));
    cudaMemcpy(&result, out, sizeof(int), cudaMemcpyDeviceToHost);
    std::printf("%d\n", result);
    e = cudaLaunchCooperativeKernel((void*)sumAll, dim3(100000), dim3(64), args);
    std::printf("%s\n", cudaGetErrorName(e));
    cudaGetLastError();
    cudaFree(in);
    cudaFree(partial);
    cudaFree(out);
}
