#include <vector>
// cuRAND's host generators: the numbers are the library's own, on the device and on the host, at once or bit by bit.
#include <cstdio>
#include <cstring>
#include <curand.h>

unsigned bits(float x) {
    unsigned u;
    memcpy(&u, &x, sizeof u);
    return u;
}
int main() {
    const int N = 90000;
    static unsigned h[2 * N];
    static float f[64];
    unsigned *d;
    cudaMalloc(&d, sizeof h);
    for (curandRngType_t type : {CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_PHILOX4_32_10}) {
        curandGenerator_t g;
        curandCreateGenerator(&g, type);
        curandSetPseudoRandomGeneratorSeed(g, 1234);
        curandGenerate(g, d, N);
        cudaMemcpy(h, d, N * sizeof(unsigned), cudaMemcpyDeviceToHost);
        printf("%08x %08x %08x %08x %08x\n", h[0], h[1], h[4096], h[13333], h[39998]);
        curandDestroyGenerator(g);
        curandCreateGenerator(&g, type);
        curandSetPseudoRandomGeneratorSeed(g, 1234);
        curandGenerateUniformDouble(g, (double *)d, 40000);
        cudaMemcpy(h, d, 40000 * sizeof(double), cudaMemcpyDeviceToHost);
        printf("%.12f %.12f\n", ((double *)h)[1], ((double *)h)[8192]);
        curandDestroyGenerator(g);
        curandCreateGenerator(&g, type);
        curandSetPseudoRandomGeneratorSeed(g, 42);
        for (int n : {10, 6, 100}) {
            curandGenerateUniform(g, (float *)d, n);
            cudaMemcpy(f, d, sizeof(float), cudaMemcpyDeviceToHost);
            printf("%08x ", bits(f[0]));
        }
        curandDestroyGenerator(g);
        curandCreateGeneratorHost(&g, type);
        curandSetPseudoRandomGeneratorSeed(g, 1234);
        curandGenerateUniform(g, f, 64);
        printf("%.5f %.5f ", f[0], f[11]);
        curandGenerateNormal(g, f, 64, 0, 1);
        printf("%.5f %.5f\n", f[0], f[11]);
        printf("%d %d\n", curandGenerateNormal(g, f, 63, 0, 1), curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_LEGACY));
        curandDestroyGenerator(g);
    }
    curandGenerator_t g;
    curandCreateGenerator(&g, CURAND_RNG_QUASI_SOBOL32);
    printf("%d %d\n", curandSetQuasiRandomGeneratorDimensions(g, 1), curandSetPseudoRandomGeneratorSeed(g, 1));
    curandGenerate(g, d, 40000);
    cudaMemcpy(h, d, 40000 * sizeof(unsigned), cudaMemcpyDeviceToHost);
    printf("%08x %08x %08x %08x\n", h[1], h[6], h[13333], h[32771]);
    curandGenerateNormal(g, (float *)d, 3, 0, 1);
    curandSetGeneratorOffset(g, 7);
    curandGenerateUniform(g, (float *)d, 8);
    cudaMemcpy(f, d, 8 * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%08x %08x\n", bits(f[0]), bits(f[7]));
    curandDestroyGenerator(g);
    cudaFree(d);
    // Kinds of numbers one after another, which take more or less of each subsequence: means as an H100 had them.
    std::vector<float> many(1000000);
    auto mean = [&] {
        float sum = 0;
        for (float one : many) sum += one;
        return sum / many.size();
    };
    curandCreateGeneratorHost(&g, CURAND_RNG_PSEUDO_DEFAULT);
    curandSetPseudoRandomGeneratorSeed(g, 1234);
    curandGenerateUniform(g, many.data(), many.size());
    printf("%.6f", mean());
    curandGenerateNormal(g, many.data(), many.size(), 0, 1);
    printf(" %.6f", mean());
    curandGenerateLogNormal(g, many.data(), many.size(), 0, 1);
    printf(" %.4f\n", mean());
    curandDestroyGenerator(g);
    // Points of three dimensions: all first numbers, then all second ones; Joe and Kuo's sequence.
    curandCreateGeneratorHost(&g, CURAND_RNG_QUASI_SOBOL32);
    printf("%d %d", curandSetQuasiRandomGeneratorDimensions(g, 0), curandSetQuasiRandomGeneratorDimensions(g, 3));
    printf(" %d", curandGenerateUniform(g, many.data(), 10));
    curandGenerateUniform(g, many.data(), 12);
    for (int point : {1, 2, 3}) printf(" (%g %g %g)", many[point], many[4 + point], many[8 + point]);
    curandGenerateUniform(g, many.data(), 3);
    printf(" (%g %g %g)\n", many[0], many[1], many[2]);
    curandDestroyGenerator(g);
}
