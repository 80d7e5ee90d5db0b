// CUB: for a whole array from the host, for a block and a warp within a kernel.
#include <algorithm>
#include <cstdio>
#include <cub/cub.cuh>

template <int threads>
__global__ void block_sums(const int *in, int *sums, int *prefix) {
    using Reduce = cub::BlockReduce<int, threads>;
    using Scan = cub::BlockScan<int, threads>;
    using Warp = cub::WarpReduce<int>;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
        typename Warp::TempStorage warp[threads / 32];
    } shared;
    int value = in[blockIdx.x * threads + threadIdx.x];
    int sum = Reduce(shared.reduce).Sum(value);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    __syncthreads();
    int before;
    Scan(shared.scan).ExclusiveSum(value, before);
    prefix[blockIdx.x * threads + threadIdx.x] = before;
    __syncthreads();
    int warp = threadIdx.x / 32;
    int largest = Warp(shared.warp[warp]).Reduce(value, cub::Max());
    if (threadIdx.x == 32 && blockIdx.x == 0) sums[2] = largest;
}

// So many that no kernel sorts them: whole, and by some of their bits, of which equal ones stay in order.
void many_keys() {
    const int n = 20000;
    static int keys[n], sorted[n];
    for (int i = 0; i < n; i++) keys[i] = (i * 7919 % n - n / 2) * 3;
    int *d_in, *d_out;
    void *work;
    size_t bytes = 0;
    cudaMalloc(&d_in, sizeof keys);
    cudaMalloc(&d_out, sizeof keys);
    cudaMemcpy(d_in, keys, sizeof keys, cudaMemcpyHostToDevice);
    cub::DeviceRadixSort::SortKeys(nullptr, bytes, d_in, d_out, n);
    cudaMalloc(&work, bytes);
    for (int first : {0, 4}) {
        cub::DeviceRadixSort::SortKeys(work, bytes, d_in, d_out, n, first, first ? 12 : 32);
        cudaMemcpy(sorted, d_out, sizeof sorted, cudaMemcpyDeviceToHost);
        auto digits = [first](int key) { return first ? key >> 4 & 0xff : key; };
        std::stable_sort(keys, keys + n, [digits](int a, int b) { return digits(a) < digits(b); });
        printf("many %s\n", std::equal(keys, keys + n, sorted) ? "ok" : "WRONG");
        cudaMemcpy(d_in, keys, sizeof keys, cudaMemcpyHostToDevice);
    }
    cudaFree(work);
    cudaFree(d_in);
    cudaFree(d_out);
}

int main() {
    const int n = 256;
    int in[n], out[n], sums[3], *d_in, *d_out, *d_sums, *d_bins;
    for (int i = 0; i < n; i++) in[i] = (i * 37) % 101;
    cudaMalloc(&d_in, sizeof in);
    cudaMalloc(&d_out, sizeof out);
    cudaMalloc(&d_sums, sizeof sums);
    cudaMalloc(&d_bins, 4 * sizeof(int));
    cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);

    block_sums<128><<<2, 128>>>(d_in, d_sums, d_out);
    cudaMemcpy(sums, d_sums, sizeof sums, cudaMemcpyDeviceToHost);
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    printf("blocks %d %d, largest of a warp %d, before the last %d\n", sums[0], sums[1], sums[2], out[n - 1]);

    void *work = nullptr;
    size_t bytes = 0;
    cub::DeviceReduce::Sum(work, bytes, d_in, d_sums, n);
    cudaMalloc(&work, bytes);
    cub::DeviceReduce::Sum(work, bytes, d_in, d_sums, n);
    cudaMemcpy(sums, d_sums, sizeof(int), cudaMemcpyDeviceToHost);
    printf("sum %d\n", sums[0]);
    cudaFree(work);

    work = nullptr;
    cub::DeviceScan::ExclusiveSum(work, bytes, d_in, d_out, n);
    cudaMalloc(&work, bytes);
    cub::DeviceScan::ExclusiveSum(work, bytes, d_in, d_out, n);
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    printf("scan %d %d\n", out[1], out[n - 1]);
    cudaFree(work);

    work = nullptr;
    cub::DeviceRadixSort::SortKeys(work, bytes, d_in, d_out, n);
    cudaMalloc(&work, bytes);
    cub::DeviceRadixSort::SortKeys(work, bytes, d_in, d_out, n);
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    printf("sorted %d %d %d\n", out[0], out[n / 2], out[n - 1]);
    cudaFree(work);
    many_keys();

    work = nullptr;
    cub::DeviceHistogram::HistogramEven(work, bytes, d_in, d_bins, 5, 0, 100, n);
    cudaMalloc(&work, bytes);
    cub::DeviceHistogram::HistogramEven(work, bytes, d_in, d_bins, 5, 0, 100, n);
    cudaMemcpy(out, d_bins, 4 * sizeof(int), cudaMemcpyDeviceToHost);
    printf("bins %d %d %d %d\n", out[0], out[1], out[2], out[3]);
    cudaFree(work);
    cudaFree(d_in);
    cudaFree(d_out);
    cudaFree(d_sums);
    cudaFree(d_bins);
    return 0;
}
