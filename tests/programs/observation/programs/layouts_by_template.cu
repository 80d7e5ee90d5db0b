#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace lab1 {
// CRTP: каждая раскладка знает, где в буфере лежит элемент (r, c).
template <class Derived>
struct Layout {
    __device__ float &at(float *buf, int r, int c) const { return buf[static_cast<const Derived *>(this)->offset(r, c)]; }
};
struct Plain : Layout<Plain> {
    static constexpr int words = 32 * 32;
    __device__ int offset(int r, int c) const { return r * 32 + c; }
};
struct Swizzled : Layout<Swizzled> {
    static constexpr int words = 32 * 32;
    __device__ int offset(int r, int c) const { return r * 32 + (c ^ r); }
};

struct View {
    const float *p;
    int64_t rows, cols;
    __device__ bool has(int64_t r, int64_t c) const { return r < rows && c < cols; }
    __device__ float operator()(int64_t r, int64_t c) const { return p[r * cols + c]; }
};

namespace kernels {
__global__ void naive(View a, float *b)
{
    const int64_t c = blockIdx.x * int64_t(blockDim.x) + threadIdx.x, r = blockIdx.y * int64_t(blockDim.y) + threadIdx.y;
    if (a.has(r, c)) b[c * a.rows + r] = a(r, c);
}

template <class L>
__global__ void staged(View a, float *b)
{
    __shared__ float buf[L::words];
    const L layout{};
    const int64_t r0 = blockIdx.y * 32LL, c0 = blockIdx.x * 32LL;
    for (int r = threadIdx.y; r < 32; r += blockDim.y)
        if (a.has(r0 + r, c0 + threadIdx.x)) layout.at(buf, r, threadIdx.x) = a(r0 + r, c0 + threadIdx.x);
    __syncthreads();
    for (int c = threadIdx.y; c < 32; c += blockDim.y)
        if (a.has(r0 + threadIdx.x, c0 + c)) b[(c0 + c) * a.rows + r0 + threadIdx.x] = layout.at(buf, threadIdx.x, c);
}
} // namespace kernels

inline void must(cudaError_t e) { if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e)); }

struct Free { void operator()(float *p) const { cudaFree(p); } };
using Device = std::unique_ptr<float, Free>;
Device device(size_t n) { float *p; must(cudaMalloc(&p, n * sizeof(float))); return Device(p); }
} // namespace lab1

int main() try {
    using namespace lab1;
    const int64_t rows = 130, cols = 94;
    std::vector<float> in(rows * cols), out(rows * cols);
    for (size_t i = 0; i < in.size(); ++i) in[i] = i * 0.25f;
    auto a = device(in.size()), b = device(in.size());
    must(cudaMemcpy(a.get(), in.data(), in.size() * 4, cudaMemcpyHostToDevice));
    const View v{a.get(), rows, cols};
    const dim3 block(32, 8), tiles((cols + 31) / 32, (rows + 31) / 32);
    auto look = [&](const char *name) {
        must(cudaGetLastError());
        must(cudaMemcpy(out.data(), b.get(), out.size() * 4, cudaMemcpyDeviceToHost));
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < cols; ++c)
                if (out[c * rows + r] != in[r * cols + c]) throw std::runtime_error(name);
        std::printf("%s ok\n", name);
    };
    kernels::naive<<<dim3((cols + 31) / 32, (rows + 7) / 8), block>>>(v, b.get());
    look("naive");
    kernels::staged<Plain><<<tiles, block>>>(v, b.get());
    look("shared");
    kernels::staged<Swizzled><<<tiles, block>>>(v, b.get());
    look("conflict free");
} catch (const std::exception &e) {
    std::fprintf(stderr, "ошибка: %s\n", e.what());
    return 1;
}
