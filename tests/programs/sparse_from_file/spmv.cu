// Build: nvcc -std=c++17 -o spmv spmv.cu
// Run:   ./spmv laplace.mtx
//
//
// Formats:
//
//   CSR   start[r] ... start[r + 1] - 1 are the entries of row r.
//   ELL   every row has as many entries as the longest one; entry k of row r lies at k * rows + r, so that the
//         threads of a warp read neighbouring elements; column -1 marks what is not there.
//
// The input is read in the coordinate format of Matrix Market; of a symmetric matrix the file has one half.
//
// The power iteration is only there to have kernels that depend on one another.
//
// Sparse matrix times vector: a Matrix Market file into CSR and ELL, two kernels, power iteration.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <cuda_runtime.h>

struct Csr {
    int rows = 0, cols = 0;
    std::vector<int> start, column;
    std::vector<double> value;
};

struct Ell {
    int rows = 0, width = 0;
    std::vector<int> column;
    std::vector<double> value;
};

static Csr read_matrix_market(const std::string& name)
{
    std::ifstream file(name);
    if (!file) throw std::runtime_error("cannot open " + name);
    std::string line;
    std::getline(file, line);
    if (line.rfind("%%MatrixMarket", 0) != 0) throw std::runtime_error("not a Matrix Market file");
    const bool symmetric = line.find("symmetric") != std::string::npos;
    while (std::getline(file, line))
        if (!line.empty() && line[0] != '%') break;
    int rows, cols, count;
    std::istringstream(line) >> rows >> cols >> count;

    std::vector<std::tuple<int, int, double>> entries;
    for (int k = 0; k < count; ++k) {
        int r, c;
        double v;
        if (!(file >> r >> c >> v)) throw std::runtime_error("too few entries");
        entries.emplace_back(r - 1, c - 1, v);
        if (symmetric && r != c) entries.emplace_back(c - 1, r - 1, v);
    }
    std::sort(entries.begin(), entries.end());

    Csr matrix;
    matrix.rows = rows;
    matrix.cols = cols;
    matrix.start.assign(rows + 1, 0);
    for (const auto& [r, c, v] : entries) {
        ++matrix.start[r + 1];
        matrix.column.push_back(c);
        matrix.value.push_back(v);
    }
    for (int r = 0; r < rows; ++r) matrix.start[r + 1] += matrix.start[r];
    return matrix;
}

static Ell to_ell(const Csr& csr)
{
    Ell ell;
    ell.rows = csr.rows;
    for (int r = 0; r < csr.rows; ++r) ell.width = std::max(ell.width, csr.start[r + 1] - csr.start[r]);
    ell.column.assign(ell.rows * ell.width, -1);
    ell.value.assign(ell.rows * ell.width, 0);
    for (int r = 0; r < csr.rows; ++r)
        for (int k = csr.start[r]; k < csr.start[r + 1]; ++k) {
            ell.column[(k - csr.start[r]) * ell.rows + r] = csr.column[k];
            ell.value[(k - csr.start[r]) * ell.rows + r] = csr.value[k];
        }
    return ell;
}

__global__ void multiply_csr(int rows, const int* start, const int* column, const double* value, const double* x, double* y)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double sum = 0;
    for (int k = start[r]; k < start[r + 1]; ++k) sum += value[k] * x[column[k]];
    y[r] = sum;
}

__global__ void multiply_ell(int rows, int width, const int* column, const double* value, const double* x, double* y)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double sum = 0;
    for (int k = 0; k < width; ++k) {
        const int c = column[k * rows + r];
        if (c >= 0) sum += value[k * rows + r] * x[c];
    }
    y[r] = sum;
}

__global__ void scale_by(double* x, int n, double factor)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}

static void ok(cudaError_t e)
{
    if (e != cudaSuccess) throw std::runtime_error(cudaGetErrorString(e));
}

template <class T>
T* to_device(const std::vector<T>& host)
{
    T* device;
    ok(cudaMalloc(&device, host.size() * sizeof(T)));
    ok(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

static std::vector<double> on_cpu(const Csr& m, const std::vector<double>& x)
{
    std::vector<double> y(m.rows);
    for (int r = 0; r < m.rows; ++r)
        for (int k = m.start[r]; k < m.start[r + 1]; ++k) y[r] += m.value[k] * x[m.column[k]];
    return y;
}

static double distance(const std::vector<double>& a, const std::vector<double>& b)
{
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
    return worst;
}

int main(int argc, char** argv)
{
    if (argc != 2) {
        std::cerr << "usage: spmv matrix.mtx\n";
        return 2;
    }
    try {
        const Csr csr = read_matrix_market(argv[1]);
        const Ell ell = to_ell(csr);
        std::cout << csr.rows << " x " << csr.cols << ", " << csr.value.size() << " entries, at most " << ell.width << " a row\n";

        std::vector<double> x(csr.cols), y(csr.rows);
        for (int i = 0; i < csr.cols; ++i) x[i] = 1.0 + i % 3;
        const auto expected = on_cpu(csr, x);

        int *d_start = to_device(csr.start), *d_column = to_device(csr.column), *d_ell_column = to_device(ell.column);
        double *d_value = to_device(csr.value), *d_ell_value = to_device(ell.value), *d_x = to_device(x), *d_y;
        ok(cudaMalloc(&d_y, y.size() * sizeof(double)));

        const int threads = 8, blocks = (csr.rows + threads - 1) / threads;
        multiply_csr<<<blocks, threads>>>(csr.rows, d_start, d_column, d_value, d_x, d_y);
        ok(cudaGetLastError());
        ok(cudaMemcpy(y.data(), d_y, y.size() * sizeof(double), cudaMemcpyDeviceToHost));
        std::cout << "CSR: " << (distance(y, expected) < 1e-12 ? "right" : "wrong") << '\n';

        ok(cudaMemset(d_y, 0, y.size() * sizeof(double)));
        multiply_ell<<<blocks, threads>>>(ell.rows, ell.width, d_ell_column, d_ell_value, d_x, d_y);
        ok(cudaGetLastError());
        ok(cudaMemcpy(y.data(), d_y, y.size() * sizeof(double), cudaMemcpyDeviceToHost));
        std::cout << "ELL: " << (distance(y, expected) < 1e-12 ? "right" : "wrong") << '\n';

        // the largest eigenvalue of 2 on the diagonal and -1 beside it is below 4
        double norm = 0;
        for (int step = 0; step < 8; ++step) {
            multiply_csr<<<blocks, threads>>>(csr.rows, d_start, d_column, d_value, d_x, d_y);
            ok(cudaGetLastError());
            std::swap(d_x, d_y);
            ok(cudaMemcpy(x.data(), d_x, x.size() * sizeof(double), cudaMemcpyDeviceToHost));
            norm = 0;
            for (double v : x) norm += v * v;
            norm = std::sqrt(norm);
            scale_by<<<blocks, threads>>>(d_x, csr.rows, 1 / norm);
            ok(cudaGetLastError());
        }
        std::cout << "eigenvalue " << (norm > 3 && norm < 4 ? "plausible" : "not plausible") << '\n';

        for (void* p : {(void*)d_start, (void*)d_column, (void*)d_ell_column, (void*)d_value, (void*)d_ell_value, (void*)d_x, (void*)d_y})
            ok(cudaFree(p));
        return 0;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
