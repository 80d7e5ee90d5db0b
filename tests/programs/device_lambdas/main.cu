// Lambdas with a qualifier, handed to kernels, and a kernel of the usual kind beside them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__constant__ float scale[2];
__device__ int counted;

#define CHECK(call)                                                            \
    do {                                                                       \
        cudaError_t error = (call);                                            \
        if (error != cudaSuccess) {                                            \
            printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
            return 1;                                                          \
        }                                                                      \
    } while (0)

template <class Function>
__global__ void for_each(int n, Function function) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) function(i);
}

template <class T, class Function>
__global__ void block_reduce(const T *in, T *out, int n, Function combine) {
    __shared__ T part[128];
    int i = threadIdx.x;
    part[i] = i < n ? in[i] : in[0];
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (i < step) part[i] = combine(part[i], part[i + step]);
        __syncthreads();
    }
    if (i == 0) *out = part[0];
}

__global__ void doubled(float *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= 2;
}

// Each thread hashes what all kinds of groups tell it.
template <class Function>
__global__ void hash_groups(unsigned *hashes, Function function) {
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<8>(warp);
    unsigned hash = 0, i = grid.thread_rank();
    auto mix = [&](unsigned value) { hash = hash * 31 + value; };
    mix(tile.shfl(3 * i, 5)), mix(tile.shfl_up(i, 2)), mix(tile.shfl_xor(i, 3)), mix(tile.ballot(i % 3 == 0));
    mix(tile.match_any(i % 2)), mix(tile.meta_group_rank() + tile.meta_group_size()), mix(warp.all(i < 32));
    mix(cg::reduce(warp, (int)i, cg::plus<int>())), mix(cg::exclusive_scan(tile, function(i)));
    if (i % 5 < 2) {
        cg::coalesced_group some = cg::coalesced_threads();
        mix(some.shfl(i, 1)), mix(some.shfl_down(i, 1)), mix(some.ballot(i & 1)), mix(some.size());
        mix(cg::reduce(some, (int)i, cg::greater<int>())), mix(cg::inclusive_scan(some, (int)i));
        mix(cg::tiled_partition(some, 4).thread_rank());
    }
    mix(cg::binary_partition(warp, i % 7 == 1).size()), mix(cg::labeled_partition(warp, i % 4).shfl(i, 2));
    cg::thread_group sixteen = cg::tiled_partition(block, 16);
    sixteen.sync(), block.sync();
    mix(sixteen.thread_rank() * sixteen.size()), mix(block.group_index().x + block.size()), mix(grid.size());
    hashes[i] = hash;
    grid.sync();
    hash = hashes[grid.size() - 1 - i];
    grid.sync();
    atomicXor(&hashes[0], hash << i % 8);
}

template <class Function>
unsigned hash_of_groups(Function function) {
    unsigned *hashes, hash;
    cudaMalloc(&hashes, 128 * sizeof hash);
    void *arguments[] = {&hashes, &function};
    cudaLaunchCooperativeKernel((void *)hash_groups<Function>, dim3(2), dim3(64), arguments);
    cudaMemcpy(&hash, hashes, sizeof hash, cudaMemcpyDeviceToHost);
    cudaFree(hashes);
    return hash;
}

int main() {
    const int n = 100;
    float factors[2] = {0.5f, 3.0f};
    CHECK(cudaMemcpyToSymbol(scale, factors, sizeof factors));
    float *data, *result;
    CHECK(cudaMalloc(&data, n * sizeof(float)));
    CHECK(cudaMalloc(&result, sizeof(float)));
    for_each<<<2, 64>>>(n, [=] __device__(int i) { data[i] = scale[0] * i; });
    doubled<<<1, 128>>>(data, n);
    auto wave = [=] __device__ __host__(float x) { return 1 + std::sqrt(x); };
    for_each<<<2, 64>>>(n, [=] __device__(int i) {
        data[i] = scale[1] * wave(data[i]) + 10 * sinf(i) + powf(1.5f, i % 3) + fmaxf(i, 50);
        if (i % 3 == 0) atomicAdd(&counted, 1);
    });
    CHECK(cudaGetLastError());
    std::vector<float> host(n);
    CHECK(cudaMemcpy(host.data(), data, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i : {0, 1, 49, 99}) {
        float wanted = factors[1] * wave(i) + 10 * std::sin((float)i) + std::pow(1.5f, i % 3) + std::max(i, 50);
        printf("%d: %.3f %s\n", i, host[i], std::fabs(host[i] - wanted) < 1e-3f ? "as expected" : "WRONG");
    }
    block_reduce<<<1, 128>>>(data, result, n, [] __device__(float a, float b) { return a > b ? a : b; });
    float largest;
    CHECK(cudaMemcpy(&largest, result, sizeof largest, cudaMemcpyDeviceToHost));
    printf("largest %.3f %s\n", largest, largest == *std::max_element(host.begin(), host.end()) ? "ok" : "WRONG");
    int thirds;
    CHECK(cudaMemcpyFromSymbol(&thirds, counted, sizeof thirds));
    printf("%d thirds\n", thirds);
    printf("groups %08x\n", hash_of_groups([] __device__(int i) { return i % 5; }));
    CHECK(cudaFree(data));
    CHECK(cudaFree(result));
}
