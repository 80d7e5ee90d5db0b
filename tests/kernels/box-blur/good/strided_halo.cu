// A loop of the block over its stretch, constants of the language, a guard on everything.
constexpr int RAD = 4;
constexpr int TB = 256;

__global__ void tile_blur(const float *x, float *y, unsigned count)
{
    __shared__ float w[TB + 2 * RAD];
    const long long first = (long long)blockIdx.x * TB - RAD;
    for (int k = threadIdx.x; k < TB + 2 * RAD; k += TB) {
        const long long i = first + k;
        w[k] = i >= 0 && i < count ? x[i] : 0.f;
    }
    __syncthreads();
    const unsigned i = blockIdx.x * TB + threadIdx.x;
    if (i < count) {
        if (i < RAD || i + RAD >= count) {
            y[i] = w[threadIdx.x + RAD];
        } else {
            float s = 0;
            for (int k = 0; k < 2 * RAD + 1; ++k)
                s += w[threadIdx.x + k];
            y[i] = s / (2 * RAD + 1);
        }
    }
}

int main()
{
    unsigned count = 1u << 22;
    float *a, *b;
    cudaMalloc(&a, count * 4);
    cudaMalloc(&b, count * 4);
    tile_blur<<<(count + TB - 1) / TB, TB>>>(a, b, count);
    return cudaGetLastError();
}
