#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <stdexcept>

// args: <elements> <radius> <threads>
template <typename T>
struct Buffer {
    T *p = nullptr;
    size_t n;
    explicit Buffer(size_t n) : n(n) { if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess) throw std::bad_alloc(); }
    ~Buffer() { cudaFree(p); }
    void put(const T *h) { check(cudaMemcpy(p, h, n * sizeof(T), cudaMemcpyHostToDevice)); }
    void get(T *h) const { check(cudaMemcpy(h, p, n * sizeof(T), cudaMemcpyDeviceToHost)); }
    static void check(cudaError_t e) { if (e) throw std::runtime_error(cudaGetErrorString(e)); }
};

__global__ void blur_global(float *out, const float *in, unsigned n, unsigned r)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (i < r || i + r >= n) { out[i] = in[i]; continue; }
        float s = 0;
        for (unsigned j = i - r; j <= i + r; ++j) s += in[j];
        out[i] = s / (2 * r + 1);
    }
}

__global__ void blur_smem(float *out, const float *in, unsigned n, unsigned r)
{
    extern __shared__ float line[];
    const int first = (int)(blockIdx.x * blockDim.x) - (int)r;
    for (unsigned k = threadIdx.x; k < blockDim.x + 2 * r; k += blockDim.x) {
        const int at = first + (int)k;
        line[k] = at >= 0 && at < (int)n ? in[at] : 0.f;
    }
    __syncthreads();
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float *mine = line + threadIdx.x;
    float s = mine[r];
    if (i >= r && i + r < n) {
        s = 0;
        for (unsigned k = 0; k <= 2 * r; ++k) s += mine[k];
        s /= 2 * r + 1;
    }
    out[i] = s;
}

int main(int argc, char **argv)
{
    const unsigned n = argc > 1 ? atoi(argv[1]) : 1000;
    const unsigned r = argc > 2 ? atoi(argv[2]) : 2;
    const unsigned threads = argc > 3 ? atoi(argv[3]) : 96;
    float *in = new float[n], *out = new float[n], *cpu = new float[n];
    for (unsigned i = 0; i < n; ++i) in[i] = (i * 37) % 101;
    for (unsigned i = 0; i < n; ++i) {
        cpu[i] = in[i];
        if (i < r || i + r >= n) continue;
        double s = 0;
        for (unsigned j = i - r; j <= i + r; ++j) s += in[j];
        cpu[i] = s / (2 * r + 1);
    }
    int status = 0;
    try {
        Buffer<float> a(n), b(n);
        a.put(in);
        for (int version = 0; version < 2; ++version) {
            Buffer<float>::check(cudaMemset(b.p, 0xff, n * sizeof(float)));
            const unsigned blocks = (n + threads - 1) / threads;
            if (version == 0)
                blur_global<<<blocks, threads>>>(b.p, a.p, n, r);
            else
                blur_smem<<<blocks, threads, (threads + 2 * r) * sizeof(float)>>>(b.p, a.p, n, r);
            Buffer<float>::check(cudaGetLastError());
            b.get(out);
            float worst = 0;
            for (unsigned i = 0; i < n; ++i) worst = std::fmax(worst, std::fabs(out[i] - cpu[i]));
            std::printf("version %d: %s\n", version, worst < 0.01f ? "matches" : "DIFFERS");
            status |= !(worst < 0.01f);
        }
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        status = 2;
    }
    delete[] in; delete[] out; delete[] cpu;
    return status;
}
