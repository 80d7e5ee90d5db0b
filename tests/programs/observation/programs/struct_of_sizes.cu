// The sizes are handed over in a struct; the first launch is for matrices of two rows.
#include <cstdio>
#include <vector>

struct Params {
    int n, count;
};

__global__ void global_memory(const float *from, float *to, Params p)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= p.count)
        return;
    const float *a = from + m * p.n * p.n;
    for (int i = 0; i < p.n; ++i)
        for (int j = 0; j < p.n; ++j) {
            float sum = 0;
            for (int k = 0; k < p.n; ++k)
                sum += a[i * p.n + k] * a[k * p.n + j];
            to[(m * p.n + i) * p.n + j] = sum;
        }
}

__global__ void shared_memory(const float *from, float *to, Params p)
{
    extern __shared__ float s[];
    int m = blockIdx.x * blockDim.x + threadIdx.x, elements = p.n * p.n;
    if (m >= p.count)
        return;
    for (int e = 0; e < elements; ++e)
        s[e * blockDim.x + threadIdx.x] = from[m * elements + e];
    for (int i = 0; i < p.n; ++i)
        for (int j = 0; j < p.n; ++j) {
            float sum = 0;
            for (int k = 0; k < p.n; ++k)
                sum += s[(i * p.n + k) * blockDim.x + threadIdx.x] * s[(k * p.n + j) * blockDim.x + threadIdx.x];
            to[m * elements + i * p.n + j] = sum;
        }
}

int main()
{
    for (int n = 2; n <= 10; ++n) {
        Params p{n, 1000};
        std::vector<float> data(p.count * n * n);
        for (size_t i = 0; i < data.size(); ++i)
            data[i] = i % 97 / 97.0f;
        size_t bytes = data.size() * sizeof(float);
        float *from, *to;
        cudaMalloc(&from, bytes);
        cudaMalloc(&to, bytes);
        cudaMemcpy(from, data.data(), bytes, cudaMemcpyHostToDevice);
        int threads = n >= 7 ? 64 : 256, blocks = (p.count + threads - 1) / threads;
        global_memory<<<blocks, threads>>>(from, to, p);
        cudaMemcpy(data.data(), to, bytes, cudaMemcpyDeviceToHost);
        shared_memory<<<blocks, threads, threads * n * n * sizeof(float)>>>(from, to, p);
        cudaMemcpy(data.data(), to, bytes, cudaMemcpyDeviceToHost);
        printf("%f\n", data[0]);
    }
}
