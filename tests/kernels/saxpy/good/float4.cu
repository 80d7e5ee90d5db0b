// Four elements a thread where the arrays have them, the rest by itself.
__global__ void by_four(float a, const float4 *x, float4 *y, int quads) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        float4 p = x[i], q = y[i];
        y[i] = make_float4(a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w);
    }
}

__global__ void rest(float a, const float *x, float *y, int first, int n) {
    int i = first + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" void solve(float a, const float *x, float *y, int n) {
    int quads = n / 4;
    if (quads) by_four<<<(quads + 127) / 128, 128>>>(a, (const float4 *)x, (float4 *)y, quads);
    if (n % 4) rest<<<1, 32>>>(a, x, y, 4 * quads, n);
}
