// Two passes over a buffer of its own.
__global__ void scale(float a, const float *x, float *scaled, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) scaled[i] = a * x[i];
}

__global__ void add(const float *scaled, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += scaled[i];
}

void solve(float a, const float *x, float *y, int n) {
    float *scaled;
    cudaMalloc(&scaled, n * sizeof(float));
    int blocks = (n + 255) / 256;
    scale<<<blocks, 256>>>(a, x, scaled, n);
    add<<<blocks, 256>>>(scaled, y, n);
    cudaFree(scaled);
}
