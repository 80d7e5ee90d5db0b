// Transposition, three ways, C++17.  Every check throws; nothing is freed by hand.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "device_matrix.hpp"

namespace transpose {

template <typename T>
__global__ void naive(const T* __restrict__ in, T* __restrict__ out, int rows, int cols)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols)
        out[static_cast<std::size_t>(col) * rows + row] = in[static_cast<std::size_t>(row) * cols + col];
}

template <typename T, int Tile, int Pad>
__global__ void tiled(const T* __restrict__ in, T* __restrict__ out, int rows, int cols)
{
    __shared__ T tile[Tile][Tile + Pad];

    int col = blockIdx.x * Tile + threadIdx.x;
    int row = blockIdx.y * Tile + threadIdx.y;
#pragma unroll
    for (int step = 0; step < Tile; step += Tile / 4)
        if (row + step < rows && col < cols)
            tile[threadIdx.y + step][threadIdx.x] = in[static_cast<std::size_t>(row + step) * cols + col];

    __syncthreads();

    col = blockIdx.y * Tile + threadIdx.x;
    row = blockIdx.x * Tile + threadIdx.y;
#pragma unroll
    for (int step = 0; step < Tile; step += Tile / 4)
        if (row + step < cols && col < rows)
            out[static_cast<std::size_t>(row + step) * rows + col] = tile[threadIdx.x][threadIdx.y + step];
}

}  // namespace transpose

namespace {

using Real = float;
constexpr int kTile = 32;

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

struct Attempt {
    std::string name;
    std::function<void(const DeviceMatrix<Real>&, DeviceMatrix<Real>&)> run;
};

void run_naive(const DeviceMatrix<Real>& in, DeviceMatrix<Real>& out)
{
    const dim3 block(kTile, 8);
    const dim3 grid(ceil_div(in.cols(), block.x), ceil_div(in.rows(), block.y));
    transpose::naive<Real><<<grid, block>>>(in.get(), out.get(), in.rows(), in.cols());
    CU(cudaGetLastError());
}

template <int Pad>
void run_tiled(const DeviceMatrix<Real>& in, DeviceMatrix<Real>& out)
{
    const dim3 block(kTile, kTile / 4);
    const dim3 grid(ceil_div(in.cols(), kTile), ceil_div(in.rows(), kTile));
    transpose::tiled<Real, kTile, Pad><<<grid, block>>>(in.get(), out.get(), in.rows(), in.cols());
    CU(cudaGetLastError());
}

std::vector<Real> on_cpu(const std::vector<Real>& in, int rows, int cols)
{
    std::vector<Real> out(in.size());
    for (int row = 0; row < rows; ++row)
        for (int col = 0; col < cols; ++col) out[col * rows + row] = in[row * cols + col];
    return out;
}

std::string verdict(const std::vector<Real>& got, const std::vector<Real>& wanted)
{
    const auto differing = std::mismatch(got.begin(), got.end(), wanted.begin());
    if (differing.first == got.end()) return "ok";
    std::ostringstream text;
    text << "differs at " << differing.first - got.begin() << ": " << *differing.first << " for " << *differing.second;
    return text.str();
}

int run(int rows, int cols)
{
    std::vector<Real> host(static_cast<std::size_t>(rows) * cols);
    std::mt19937 generator(20240);
    std::uniform_real_distribution<Real> uniform(-1, 1);
    std::generate(host.begin(), host.end(), [&] { return uniform(generator); });
    const auto wanted = on_cpu(host, rows, cols);

    const DeviceMatrix<Real> in(host, rows, cols);
    DeviceMatrix<Real> out(cols, rows);

    const std::vector<Attempt> attempts{
        {"naive", run_naive},
        {"shared", run_tiled<0>},
        {"shared, padded", run_tiled<1>},
    };
    int wrong = 0;
    std::cout << rows << " x " << cols << '\n';
    for (const auto& attempt : attempts) {
        out.fill_zero();
        attempt.run(in, out);  // warm up
        EventTimer timer;
        attempt.run(in, out);
        const float ms = timer.stop();
        const auto said = verdict(out.to_host(), wanted);
        wrong += said != "ok";
        std::cout << std::left << std::setw(16) << attempt.name << std::right << said;
        if (ms > 1e6f) std::cout << " (very slow)";
        std::cout << '\n';
    }
    return wrong;
}

}  // namespace

int main()
{
    try {
        int wrong = run(96, 64);
        wrong += run(65, 33);
        DeviceMatrix<Real> a(4, 4);
        DeviceMatrix<Real> b = std::move(a);
        std::cout << b.bytes() << " bytes moved, wrong: " << wrong << '\n';
        DeviceMatrix<Real> impossible(std::vector<Real>(3), 2, 2);
        return wrong;
    } catch (const std::invalid_argument& error) {
        std::cout << "refused: " << error.what() << '\n';
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
