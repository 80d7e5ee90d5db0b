// The sum is kept in an int.
__global__ void power2_simple(float *in, float *out, size_t n, size_t count)
{
    for (size_t t = blockIdx.x * blockDim.x + threadIdx.x; t < count; t += (size_t)blockDim.x * gridDim.x) {
        float *A = &in[t * n * n], *C = &out[t * n * n];
        for (size_t i = 0; i < n * n; i++) {
            int r = i / n, c = i % n;
            int acc = 0;
            for (size_t k = 0; k < n; k++) acc += A[r * n + k] * A[k * n + c];
            C[i] = acc;
        }
    }
}
