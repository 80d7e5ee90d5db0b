// Sets the output to zero first, though it begins there; a whole program.
#include <cstdio>

__global__ void sum(const float *in, float *out, int n) {
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

void solve(const float *in, float *out, int n) {
    cudaMemset(out, 0, sizeof(float));
    sum<<<(n + 255) / 256, 256>>>(in, out, n);
    if (cudaGetLastError() != cudaSuccess) printf("failed\n");
}

int main() {
    float *in, *out, result;
    cudaMalloc(&in, 1000 * sizeof(float));
    cudaMalloc(&out, sizeof(float));
    cudaMemset(in, 0, 1000 * sizeof(float));
    solve(in, out, 1000);
    cudaMemcpy(&result, out, sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", result);
}
