// A thread for neighbouring elements: a warp's lanes are far from each other.
__global__ void saxpy(float a, const float *x, float *y, int n) {
    int first = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    for (int i = first; i < first + 8 && i < n; ++i) {
        y[i] = a * x[i] + y[i];
    }
}

void solve(float a, const float *x, float *y, int n) {
    saxpy<<<(n + 1023) / 1024, 128>>>(a, x, y, n);
}
