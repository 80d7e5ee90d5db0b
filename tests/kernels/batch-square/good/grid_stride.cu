// A loop over the matrices, and a function of its own for one of them.
__device__ void square(const float *a, float *r, int n)
{
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            float s = 0;
            for (int k = 0; k < n; ++k)
                s = __fmaf_rn(a[i * n + k], a[k * n + j], s);
            r[i * n + j] = s;
        }
}

__global__ void simple(float *result, const float *matrices, int order, int total)
{
    for (int m = blockIdx.x * blockDim.x + threadIdx.x; m < total; m += gridDim.x * blockDim.x)
        square(matrices + m * order * order, result + m * order * order, order);
}
