// A kernel that allocates by cudaMalloc, hands the memory to another kernel, and one that frees it.
#include <cstdio>

__device__ int *made;

__global__ void fill(int *to, int value) { to[threadIdx.x] = value + threadIdx.x; }

__global__ void make(int count, int *status) {
    *status = cudaMalloc((void **)&made, count * sizeof(int));
    if (*status == cudaSuccess) fill<<<1, count>>>(made, 10);
}

__global__ void take(int count, int *sum) {
    for (int i = 0; i < count; i++) *sum += made[i];
    cudaFree(made);
}

int main() {
    int *results, host[2];
    cudaMalloc(&results, sizeof host);
    cudaMemset(results, 0, sizeof host);
    make<<<1, 1>>>(4, results);
    take<<<1, 1>>>(4, results + 1);
    cudaMemcpy(host, results, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%d %d %s\n", host[0], host[1], cudaGetErrorName(cudaGetLastError()));
    cudaFree(results);
}
