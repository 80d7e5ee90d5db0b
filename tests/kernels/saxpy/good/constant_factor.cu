// The factor in constant memory, copied in each call.
__constant__ float factor;

__global__ void saxpy(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i] + y[i];
}

extern "C" {
void solve(float a, const float *x, float *y, int n) {
    cudaMemcpyToSymbol(factor, &a, sizeof(float));
    saxpy<<<(n + 127) / 128, 128>>>(x, y, n);
}
}
