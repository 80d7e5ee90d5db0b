// Variables of the device that only this file sees: static, in a namespace without a name, in one with a name.
#include <cstdio>

#define TRY(call) do { cudaError_t e = (call); if (e) { printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

static __constant__ float weight[4];
static __device__ int visits = 3;
namespace {
__device__ int hidden = 2;
}
namespace lab {
__device__ int shown = 7;
static __device__ int own = 8;
}

__global__ void weigh(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = in[i] * weight[i % 4] + hidden + lab::shown + lab::own;
    atomicAdd(&visits, 1);
    if (n > 100) lab::own = 20;
}

int main()
{
    const int n = 8;
    float h[n], weights[4] = {1, 10, 100, 1000}, *in, *out;
    for (int i = 0; i < n; i++) h[i] = i;
    int ten = 10, seen, last;
    TRY(cudaMalloc(&in, sizeof(h)));
    TRY(cudaMalloc(&out, sizeof(h)));
    TRY(cudaMemcpy(in, h, sizeof(h), cudaMemcpyHostToDevice));
    TRY(cudaMemcpyToSymbol(weight, weights, sizeof(weights)));
    TRY(cudaMemcpyToSymbol(hidden, &ten, sizeof(int)));
    weigh<<<1, n>>>(in, out, n);
    TRY(cudaGetLastError());
    TRY(cudaMemcpy(h, out, sizeof(h), cudaMemcpyDeviceToHost));
    TRY(cudaMemcpyFromSymbol(&seen, visits, sizeof(int)));
    TRY(cudaMemcpyFromSymbol(&last, lab::own, sizeof(int)));
    for (int i = 1; i < n; i++) printf("%g ", h[i]);
    printf("\n%d %d\n", seen, last);
    cudaFree(in);
    cudaFree(out);
    return 0;
}
