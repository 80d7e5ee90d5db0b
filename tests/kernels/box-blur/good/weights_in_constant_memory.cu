// The host fills constant memory with the weights of a window.
#define WINDOW (2 * MAX_RADIUS + 1)
#define MAX_RADIUS 2
#define THREADS 128
static __constant__ float weights[WINDOW];
__constant__ float nothing;

__global__ void naive(const float *in, float *out, int count, int radius)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float sum = nothing;
    for (int k = -radius; k <= radius; ++k)
        if (i >= radius && i + radius < count)
            sum += weights[k + radius] * in[i + k];
    out[i] = i < radius || i + radius >= count ? in[i] : sum;
}

__global__ void shared(const float *in, float *out, int count, int radius)
{
    __shared__ float window[THREADS + 2 * MAX_RADIUS];
    int first = blockIdx.x * THREADS - radius, i = blockIdx.x * THREADS + threadIdx.x;
    for (int k = threadIdx.x; k < THREADS + 2 * radius; k += THREADS)
        if (first + k >= 0 && first + k < count)
            window[k] = in[first + k];
    __syncthreads();
    if (i >= count)
        return;
    float sum = nothing;
    for (int k = 0; k <= 2 * radius; ++k)
        if (i >= radius && i + radius < count)
            sum += weights[k] * window[threadIdx.x + k];
    out[i] = i < radius || i + radius >= count ? window[threadIdx.x + radius] : sum;
}

int main()
{
    int count = 3000, radius = MAX_RADIUS;
    float host[WINDOW], zero = 0, *data = new float[count], *in, *out;
    for (int i = 0; i < count; ++i)
        data[i] = i % 17;
    for (float &weight : host)
        weight = 1.0f / WINDOW;
    cudaMalloc(&in, count * sizeof(float));
    cudaMalloc(&out, count * sizeof(float));
    cudaMemcpy(in, data, count * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(weights, host, sizeof host);
    cudaMemcpyToSymbol(nothing, &zero, sizeof zero);
    naive<<<(count + THREADS - 1) / THREADS, THREADS>>>(in, out, count, radius);
    shared<<<(count + THREADS - 1) / THREADS, THREADS>>>(in, out, count, radius);
    cudaMemcpy(data, out, count * sizeof(float), cudaMemcpyDeviceToHost);
}
