#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

__global__ void scale(float *x, int n, float by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

int main() {
    std::string from, to;
    float by;
    std::cin >> from >> to >> by;
    std::ifstream in(from);
    if (!in) { std::cout << "cannot open " << from << "\n"; return 1; }
    int n;
    in >> n;
    float *x;
    cudaMallocManaged(&x, n * sizeof(float));
    for (int i = 0; i < n; i++) in >> x[i];
    scale<<<(n + 31) / 32, 32>>>(x, n, by);
    cudaDeviceSynchronize();
    std::ofstream(to) << x[0] << " " << x[n - 1] << "\n";
    std::string line;
    std::ifstream written(to);
    std::getline(written, line);
    std::cout << line << std::endl;
    cudaFree(x);
    return 0;
}
