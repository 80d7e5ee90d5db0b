// What is remembered of the first call is taken for the second.
__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

void solve(float a, const float *x, float *y, int n) {
    static float factor = a;
    saxpy<<<(n + 255) / 256, 256>>>(factor, x, y, n);
}
