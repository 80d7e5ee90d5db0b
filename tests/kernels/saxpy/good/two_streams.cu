// Two halves in two streams.
__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

void solve(float a, const float *x, float *y, int n) {
    cudaStream_t streams[2];
    int half = (n / 2 + 31) / 32 * 32;
    for (int s = 0; s < 2; ++s) {
        cudaStreamCreate(&streams[s]);
        int first = s * half, count = s ? n - half : min(half, n);
        if (count > 0) {
            saxpy<<<(count + 255) / 256, 256, 0, streams[s]>>>(a, x + first, y + first, count);
        }
    }
    for (int s = 0; s < 2; ++s) {
        cudaStreamSynchronize(streams[s]);
        cudaStreamDestroy(streams[s]);
    }
}
