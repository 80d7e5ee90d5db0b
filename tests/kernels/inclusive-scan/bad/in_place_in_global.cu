// Hillis and Steele in one global array: threads read what others have already changed.
__global__ void step(float *out, int n, int distance) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n && i >= distance) out[i] += out[i - distance];
}

void solve(const float *in, float *out, int n) {
    cudaMemcpy(out, in, n * sizeof(float), cudaMemcpyDeviceToDevice);
    for (int d = 1; d < n; d *= 2) step<<<(n + 255) / 256, 256>>>(out, n, d);
}
