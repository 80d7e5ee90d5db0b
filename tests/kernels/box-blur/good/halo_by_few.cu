// The halo is loaded by the first threads of the block, two on either side.
#define THREADS 64
#define RADIUS 2
__global__ void blur_shared(const float *in, float *out, int count)
{
    __shared__ float w[THREADS + 2 * RADIUS];
    const int i = blockIdx.x * THREADS + threadIdx.x, t = threadIdx.x + RADIUS;
    w[t] = i < count ? in[i] : 0;
    if (threadIdx.x < RADIUS) {
        w[t - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0;
        w[t + THREADS] = i + THREADS < count ? in[i + THREADS] : 0;
    }
    __syncthreads();
    if (i >= count)
        return;
    float sum = 0;
    for (int k = -RADIUS; k <= RADIUS; ++k)
        sum += w[t + k];
    out[i] = i < RADIUS || i >= count - RADIUS ? w[t] : sum / (2 * RADIUS + 1);
}

int main()
{
    const int count = 1 << 20;
    float *in, *out;
    cudaMalloc(&in, count * 4);
    cudaMalloc(&out, count * 4);
    blur_shared<<<(count + THREADS - 1) / THREADS, THREADS>>>(in, out, count);
    return cudaDeviceSynchronize();
}
