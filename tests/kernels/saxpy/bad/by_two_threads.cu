// Every element is added to by two threads.
__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 2 * n) {
        y[i % n] += a * x[i % n];
    }
}

void solve(float a, const float *x, float *y, int n) {
    saxpy<<<(2 * n + 255) / 256, 256>>>(a, x, y, n);
}
