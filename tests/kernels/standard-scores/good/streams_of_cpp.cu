#include <fstream>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

static void check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

__global__ void statistics(const float *table, float *mean, float *deviation, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    float sum = 0.0f;
    for (int row = 0; row < rows; ++row)
        sum += table[row * columns + column];
    const float m = sum / rows;
    float squares = 0.0f;
    for (int row = 0; row < rows; ++row) {
        float d = table[row * columns + column] - m;
        squares += d * d;
    }
    mean[column] = m;
    deviation[column] = sqrtf(squares / rows);
}

__global__ void score(const float *table, const float *mean, const float *deviation, float *scores, int n, int columns)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        scores[i] = (table[i] - mean[i % columns]) / deviation[i % columns];
}

int main(int argc, char **argv)
try {
    int rows = 0, columns = 0;
    std::cin >> rows >> columns;
    const int n = rows * columns;
    std::vector<float> table(n), mean(columns), deviation(columns), scores(n);
    for (auto &number : table)
        std::cin >> number;
    if (argc != 2 || !std::cin)
        throw std::runtime_error("usage: scores scores.bin < table.txt");
    float *device = nullptr;
    check(cudaMalloc(&device, (2 * n + 2 * columns) * sizeof(float)), "memory");
    float *const d_scores = device + n, *const d_mean = d_scores + n, *const d_deviation = d_mean + columns;
    check(cudaMemcpy(device, table.data(), n * sizeof(float), cudaMemcpyHostToDevice), "copy");
    statistics<<<(columns + 127) / 128, 128>>>(device, d_mean, d_deviation, rows, columns);
    check(cudaGetLastError(), "statistics");
    score<<<4, 256>>>(device, d_mean, d_deviation, d_scores, n, columns);
    check(cudaGetLastError(), "score");
    check(cudaMemcpy(mean.data(), d_mean, columns * sizeof(float), cudaMemcpyDeviceToHost), "copy");
    check(cudaMemcpy(deviation.data(), d_deviation, columns * sizeof(float), cudaMemcpyDeviceToHost), "copy");
    check(cudaMemcpy(scores.data(), d_scores, n * sizeof(float), cudaMemcpyDeviceToHost), "copy");
    check(cudaFree(device), "memory");
    std::cout << "table of " << rows << " x " << columns << "\n" << std::setprecision(8) << "means:";
    for (float number : mean)
        std::cout << ' ' << number;
    std::cout << "\ndeviations:";
    for (float number : deviation)
        std::cout << ' ' << number;
    std::cout << std::endl;
    std::ofstream(argv[1], std::ios::binary).write(reinterpret_cast<const char *>(scores.data()), n * sizeof(float));
    return 0;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
