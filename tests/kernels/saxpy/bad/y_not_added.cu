// The product only.
__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

void solve(float a, const float *x, float *y, int n) {
    int threads = 256;
    saxpy<<<(n + threads - 1) / threads, threads>>>(a, x, y, n);
    cudaDeviceSynchronize();
}
