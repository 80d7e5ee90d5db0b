// y = a * x + y, an element a thread; threads go on with what a bounded grid leaves over.
__global__ void saxpy(float a, const float *__restrict__ x, float *__restrict__ y, int n) {
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        y[i] = a * x[i] + y[i];
    }
}

extern "C" void solve(float a, const float *x, float *y, int n) {
    int threads = 256;
    int blocks = min((n + threads - 1) / threads, 4096);
    saxpy<<<blocks, threads>>>(a, x, y, n);
}
