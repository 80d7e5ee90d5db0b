// Build: nvcc -std=c++17 -O2 histogram.cu -o histogram
//
// Histogram of bytes in 64 bins, by three methods:
//
//   global atomics   every thread adds 1 to a counter in global memory; threads that meet in one bin wait
//                    for each other, which is worst for constant data;
//   shared atomics   every block counts for itself and adds its counters to the result at the end;
//   a bin a thread   no atomics: every thread reads all the data and counts one bin only.
//
// Inputs:
//
//   constant         all bytes are alike: the worst case of atomics;
//   ramp             0, 1, 2, ...: neighbours never meet;
//   triangular       sums of two dice, as in a photograph's histogram.
//
// Every method is compared with the CPU and the counts are summed up.
//
// Error handling: every call throws CudaFailure; memory is freed by unique_ptr.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>

namespace hist {

constexpr int kBins = 64;
constexpr int kThreads = 96;

// every thread adds to global memory
__global__ void global_atomics(const std::uint8_t* data, std::size_t n, unsigned* bins)
{
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
        atomicAdd(&bins[data[i] % kBins], 1u);
}

// a histogram a block
__global__ void shared_atomics(const std::uint8_t* data, std::size_t n, unsigned* bins)
{
    __shared__ unsigned mine[kBins];
    for (int b = threadIdx.x; b < kBins; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < n;
         i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
        atomicAdd(&mine[data[i] % kBins], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < kBins; b += blockDim.x)
        if (mine[b]) atomicAdd(&bins[b], mine[b]);
}

// a bin a thread, no atomics: everybody reads everything
__global__ void bin_a_thread(const std::uint8_t* data, std::size_t n, unsigned* bins)
{
    const int bin = blockIdx.x * blockDim.x + threadIdx.x;
    if (bin >= kBins) return;
    unsigned count = 0;
    for (std::size_t i = 0; i < n; ++i) count += data[i] % kBins == bin;
    bins[bin] = count;
}

}  // namespace hist

class CudaFailure : public std::runtime_error {
public:
    CudaFailure(cudaError_t code, const std::string& where)
        : std::runtime_error(where + ": " + cudaGetErrorString(code)), code_(code) {}
    cudaError_t code() const { return code_; }

private:
    cudaError_t code_;
};

inline void check(cudaError_t code, const std::string& where)
{
    if (code != cudaSuccess) throw CudaFailure(code, where);
}

struct DeviceDeleter {
    template <class T>
    void operator()(T* p) const { cudaFree(p); }
};
template <class T>
using device_ptr = std::unique_ptr<T[], DeviceDeleter>;

template <class T>
device_ptr<T> make_device(std::size_t n)
{
    T* raw = nullptr;
    check(cudaMalloc(&raw, n * sizeof(T)), "cudaMalloc");
    return device_ptr<T>(raw);
}

class Method {
public:
    virtual ~Method() = default;
    virtual std::string name() const = 0;
    std::vector<unsigned> operator()(const std::uint8_t* data, std::size_t n) const
    {
        auto bins = make_device<unsigned>(hist::kBins);
        check(cudaMemset(bins.get(), 0, hist::kBins * sizeof(unsigned)), "cudaMemset");
        launch(data, n, bins.get());
        check(cudaGetLastError(), name());
        std::vector<unsigned> host(hist::kBins);
        check(cudaMemcpy(host.data(), bins.get(), host.size() * sizeof(unsigned), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return host;
    }

protected:
    virtual void launch(const std::uint8_t* data, std::size_t n, unsigned* bins) const = 0;
    static unsigned blocks(std::size_t n)
    {
        return static_cast<unsigned>(std::min<std::size_t>(8, (n + hist::kThreads - 1) / hist::kThreads));
    }
};

class Global final : public Method {
    std::string name() const override { return "global atomics"; }
    void launch(const std::uint8_t* data, std::size_t n, unsigned* bins) const override
    {
        hist::global_atomics<<<blocks(n), hist::kThreads>>>(data, n, bins);
    }
};

class Shared final : public Method {
    std::string name() const override { return "shared atomics"; }
    void launch(const std::uint8_t* data, std::size_t n, unsigned* bins) const override
    {
        hist::shared_atomics<<<blocks(n), hist::kThreads>>>(data, n, bins);
    }
};

class BinAThread final : public Method {
    std::string name() const override { return "a bin a thread"; }
    void launch(const std::uint8_t* data, std::size_t n, unsigned* bins) const override
    {
        hist::bin_a_thread<<<2, hist::kBins / 2>>>(data, n, bins);
    }
};

static std::vector<unsigned> on_cpu(const std::vector<std::uint8_t>& data)
{
    std::vector<unsigned> bins(hist::kBins);
    for (auto value : data) ++bins[value % hist::kBins];
    return bins;
}

static std::vector<std::uint8_t> triangular(std::size_t n)
{
    std::mt19937 engine(7);
    std::uniform_int_distribution<int> die(0, 127);
    std::vector<std::uint8_t> data(n);
    for (auto& value : data) value = static_cast<std::uint8_t>(die(engine) + die(engine));
    return data;
}

int main()
{
    try {
        std::map<std::string, std::vector<std::uint8_t>> inputs;
        inputs["constant"] = std::vector<std::uint8_t>(1000, 5);
        inputs["ramp"].resize(777);
        std::iota(inputs["ramp"].begin(), inputs["ramp"].end(), std::uint8_t{0});
        inputs["triangular"] = triangular(3000);

        const std::array<std::unique_ptr<Method>, 3> methods{
            std::make_unique<Global>(),
            std::make_unique<Shared>(),
            std::make_unique<BinAThread>(),
        };

        int wrong = 0;
        for (const auto& [name, data] : inputs) {
            const auto expected = on_cpu(data);
            auto device = make_device<std::uint8_t>(data.size());
            check(cudaMemcpy(device.get(), data.data(), data.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
            for (const auto& method : methods) {
                const auto got = (*method)(device.get(), data.size());
                const bool same = got == expected;
                const auto total = std::accumulate(got.begin(), got.end(), 0u);
                std::printf("%-10s %-14s %s, %u of %zu\n", name.c_str(), method->name().c_str(), same ? "right" : "WRONG", total,
                            data.size());
                wrong += !same;
            }
        }
        return wrong;
    } catch (const CudaFailure& failure) {
        std::fprintf(stderr, "%s (%d)\n", failure.what(), static_cast<int>(failure.code()));
        return 1;
    }
}
