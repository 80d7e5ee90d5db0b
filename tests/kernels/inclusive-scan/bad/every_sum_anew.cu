// Each thread adds up all that stands before its element: right, and n * n / 2 additions.
__global__ void scan(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
        for (int k = 0; k <= i; ++k) sum += in[k];
        out[i] = sum;
    }
}

void solve(const float *in, float *out, int n) {
    scan<<<(n + 255) / 256, 256>>>(in, out, n);
}
