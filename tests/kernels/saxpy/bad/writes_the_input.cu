// The product is kept in x.
__global__ void saxpy(float a, float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= a;
        y[i] += x[i];
    }
}

void solve(float a, const float *x, float *y, int n) {
    saxpy<<<(n + 255) / 256, 256>>>(a, const_cast<float *>(x), y, n);
}
