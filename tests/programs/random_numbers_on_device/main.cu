// cuRAND's generators on the device: the first numbers of many subsequences are those that the host's generator gives.
#include <cmath>
#include <cstdio>
#include <curand.h>
#include <curand_kernel.h>

const int N = 512;

template <class State> __global__ void draw(unsigned *out, float *uniform, float *normal, unsigned long long offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    State s;
    curand_init(1234, i, offset, &s);
    out[i] = curand(&s);
    curand_init(1234, i, 0, &s);
    uniform[i] = curand_uniform(&s);
    curand_init(1234, i, 0, &s);
    normal[2 * i] = curand_normal(&s);
    normal[2 * i + 1] = curand_normal(&s);
}
__global__ void far(unsigned *out) {
    curandState s, t;
    curand_init(7, 0, 1000, &s);
    curand_init(7, 0, 0, &t);
    for (int i = 0; i < 1000; i++) curand(&t);
    out[0] = curand(&s);
    out[1] = curand(&t);
    curand_init(7, 300, 0, &s);
    skipahead_sequence(70000, &s);
    curand_init(7, 70300, 0, &t);
    out[2] = curand(&s);
    out[3] = curand(&t);
    curand_init(7, 1ull << 24, 0, &s);
    curand_init(7, 1, 0, &t);
    skipahead_sequence((1 << 24) - 1, &t);
    out[4] = curand(&s);
    out[5] = curand(&t);
    curandStatePhilox4_32_10_t p;
    curand_init(7, 3, 5, &p);
    out[6] = curand(&p);
    curand_init(7, 3, 4, &p);
    out[7] = curand4(&p).y;
}
unsigned h[2 * N];
float f[2 * N], g[2 * N];

// How many of the device's numbers the host's generator gives, of which each `many` come from one subsequence.
template <class State> void compare(const char *name, curandRngType_t type, int many) {
    unsigned *d, *e;
    float *u, *n;
    cudaMalloc(&d, N * sizeof(unsigned));
    cudaMalloc(&e, 2 * N * sizeof(unsigned));
    cudaMalloc(&u, N * sizeof(float));
    cudaMalloc(&n, 2 * N * sizeof(float));
    draw<State><<<N / 128, 128>>>(d, u, n, 0);
    for (int what = 0; what < 3; what++) {
        curandGenerator_t generator;
        curandCreateGenerator(&generator, type);
        curandSetPseudoRandomGeneratorSeed(generator, 1234);
        int same = 0;
        if (what == 0) {
            static unsigned own[N];
            cudaMemcpy(own, d, sizeof own, cudaMemcpyDeviceToHost);
            curandGenerate(generator, e, N);
            cudaMemcpy(h, e, N * sizeof(unsigned), cudaMemcpyDeviceToHost);
            for (int i = 0; i < N / many; i++) same += own[i] == h[many * i];
        } else {
            int step = what == 1 ? 1 : 2;
            cudaMemcpy(f, what == 1 ? u : n, step * N * sizeof(float), cudaMemcpyDeviceToHost);
            if (what == 1) curandGenerateUniform(generator, (float *)e, N);
            else curandGenerateNormal(generator, (float *)e, 2 * N, 0, 1);
            cudaMemcpy(g, e, step * N * sizeof(float), cudaMemcpyDeviceToHost);
            for (int i = 0; i < N / many; i++) same += std::fabs(f[step * i] - g[step * i * (many == 4 && what == 2 ? 2 : many)]) < 1e-5f;
        }
        printf("%s %d %d\n", name, what, same);
        curandDestroyGenerator(generator);
    }
    cudaFree(d);
    cudaFree(e);
    cudaFree(u);
    cudaFree(n);
}
int main() {
    compare<curandState>("XORWOW", CURAND_RNG_PSEUDO_XORWOW, 1);
    compare<curandStateMRG32k3a_t>("MRG32k3a", CURAND_RNG_PSEUDO_MRG32K3A, 1);
    compare<curandStatePhilox4_32_10_t>("Philox", CURAND_RNG_PSEUDO_PHILOX4_32_10, 4);
    unsigned *d;
    cudaMalloc(&d, 8 * sizeof(unsigned));
    far<<<1, 1>>>(d);
    cudaMemcpy(h, d, 8 * sizeof(unsigned), cudaMemcpyDeviceToHost);
    printf("%d %d %d %d\n", h[0] == h[1], h[2] == h[3], h[4] == h[5], h[6] == h[7]);
    printf("%zu %zu %zu\n", sizeof(curandState), sizeof(curandStatePhilox4_32_10_t), sizeof(curandStateMRG32k3a_t));
    cudaFree(d);
}
