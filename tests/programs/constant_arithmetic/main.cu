#include <cmath>
#include <cstdio>

constexpr size_t N{1 << 26};
constexpr size_t Halves = std::ceil(N / 2);
constexpr int Blocks = ceil(1000 / 96.0), BlocksAgain = std::ceil(1000 / 96.0f), Full = ceilf(12);
constexpr double Root = std::sqrt(2.0), Small = sqrt(1e-300), Large = std::sqrt(12345678901234567.0);
constexpr float RootF = std::sqrt(3.0f);
constexpr int Levels = std::log2(N), Side = sqrt(1024), Thousand = std::pow(10, 3), Below = std::floor(-2.5);
constexpr double Tenth = pow(10.0, -1), Near = std::round(-2.5), Cut = std::trunc(7.9), Power = std::pow(1.1, 5);

__global__ void grow(float *out) {
    __shared__ float tile[(int)Side / 32];
    tile[threadIdx.x] = ceil(threadIdx.x / 2.0f) + sqrt(4.0) + std::pow(2.0, 3);
    out[threadIdx.x] = tile[threadIdx.x] + Levels;
}

using namespace std;

int main(int argc, char **) {
    double (*chosen)(double) = ceil;
    const int n = 100;
    int counts[(int)ceil(n / 8.0)];
    dim3 grid(ceil(argc / 2.0), ceil(n / 64.0), floor(log2(8)));
    printf("%zu %d %d %d %d %d %d %d\n", Halves, Blocks, BlocksAgain, Full, Levels, Side, Thousand, Below);
    printf("%.17g %.17g %.17g %.9g\n", Root, Small, Large, RootF);
    printf("%.17g %g %g %.17g\n", Tenth, Near, Cut, Power);
    printf("%u %u %u %d %g\n", grid.x, grid.y, grid.z, (int)(sizeof(counts) / sizeof(int)), chosen(argc + 0.5));
    printf("%g %g %g %g\n", ceil(argc + 0.25), sqrt(argc + 1.0), pow(argc + 1, 0.5), log2(argc + 2));
    printf("%g %d %g %g\n", pow(2, 0.5), (int)pow(2, 10), sqrt(-1.0) != sqrt(-1.0) ? 1.0 : 0.0, log2(10.0));
    float *out, host[32];
    cudaMalloc(&out, sizeof(host));
    grow<<<1, 32>>>(out);
    cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
    printf("%g %g\n", host[0], host[31]);
    cudaFree(out);
}
