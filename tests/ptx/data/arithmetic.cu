// Long straight code: library functions with tables, carries and 64-bit arithmetic.
extern "C" __global__ void arithmetic(float* f, double* d, long long* l) {
    int i = threadIdx.x;
    f[i] = sinf(f[i]) + powf(f[i], 1.7f) + f[i] / f[i + 1] + sqrtf(f[i]) + __expf(f[i]);
    d[i] = exp(d[i]) / d[i + 1] + log(d[i]);
    l[i] = l[i] / l[i + 1] + __mul64hi(l[i], l[i + 2]) + l[i] % 7;
}
