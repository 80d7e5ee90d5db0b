#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cstdio>
#include <algorithm>
#include <random>
namespace cg = cooperative_groups;
__device__ float helper(cg::thread_block_tile<32> t, float v) { for (int o = 16; o; o >>= 1) v += t.shfl_down(v, o); return v; }
__global__ void reduce(const half *in, float *out, int n) { cg::thread_block b = cg::this_thread_block(); auto t = cg::tiled_partition<32>(b); float v = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) v += __half2float(in[i]); v = helper(t, v); if (t.thread_rank() == 0) atomicAdd(out, v); }
template <typename T, int B> __global__ void fill(T *p, T v) { if (threadIdx.x < B) p[threadIdx.x] = v; }
int main() { std::mt19937 g(1); std::uniform_real_distribution<float> u(0, 1); half h[256]; float s = 0; for (auto &x : h) { x = __float2half(u(g)); s += __half2float(x); }
 half *d; float *o, r = 0; cudaMalloc(&d, sizeof h); cudaMalloc(&o, 4); cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice); cudaMemset(o, 0, 4); reduce<<<1, 64>>>(d, o, 256); fill<float, 1><<<1,32>>>(o + 0, 0.f + 1); reduce<<<1,64>>>(d,o,256);
 cudaMemcpy(&r, o, 4, cudaMemcpyDeviceToHost); printf("%d\n", std::abs(r - s - 1) < 0.05f); cudaFree(d); cudaFree(o); }
