#include <array>
#include <cstdio>
#include <cstdint>
#include <string>
#include <string_view>
#include <optional>

// each matrix as a type of its own
constexpr int kOrder = 4;
struct Mat { float v[kOrder][kOrder]; };

__host__ __device__ inline Mat squared(const Mat& m)
{
    Mat out{};
    for (int i = 0; i < kOrder; ++i)
        for (int j = 0; j < kOrder; ++j)
            for (int k = 0; k < kOrder; ++k) out.v[i][j] += m.v[i][k] * m.v[k][j];
    return out;
}

__global__ void squareAll(const Mat* in, Mat* out, int64_t count)
{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) out[i] = squared(in[i]);
}

static std::optional<std::string> problem(cudaError_t e, std::string_view where)
{
    if (e == cudaSuccess) return std::nullopt;
    return std::string(where) + ": " + cudaGetErrorName(e);
}

int main()
{
    static std::array<Mat, 130> in{}, out{};
    for (std::size_t n = 0; n < in.size(); ++n)
        for (int i = 0; i < kOrder; ++i)
            for (int j = 0; j < kOrder; ++j) in[n].v[i][j] = static_cast<float>((n + i * 3 + j) % 5);
    Mat *d_in{}, *d_out{};
    for (auto [pointer, name] : {std::pair{&d_in, "in"}, std::pair{&d_out, "out"}})
        if (auto p = problem(cudaMalloc(pointer, sizeof in), name)) { std::puts(p->c_str()); return 1; }
    if (auto p = problem(cudaMemcpy(d_in, in.data(), sizeof in, cudaMemcpyHostToDevice), "copy")) { std::puts(p->c_str()); return 1; }
    squareAll<<<3, 64>>>(d_in, d_out, in.size());
    if (auto p = problem(cudaGetLastError(), "launch")) { std::puts(p->c_str()); return 1; }
    if (auto p = problem(cudaMemcpy(out.data(), d_out, sizeof out, cudaMemcpyDeviceToHost), "copy back")) { std::puts(p->c_str()); return 1; }
    int wrong = 0;
    for (std::size_t n = 0; n < in.size(); ++n) {
        const Mat want = squared(in[n]);
        for (int i = 0; i < kOrder; ++i)
            for (int j = 0; j < kOrder; ++j) wrong += want.v[i][j] != out[n].v[i][j];
    }
    std::printf("wrong: %d\n", wrong);
    cudaFree(d_in);
    cudaFree(d_out);
    return wrong;
}
