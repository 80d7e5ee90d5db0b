// Functions of the math library, and their fast versions. Function k of element i goes to out[k * n + i].
#define PUT(value) out[k++ * n + i] = (value)

extern "C" __global__ void float_functions(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], p = fabsf(x) + 0.01f, u = x / 101.0f;
    int k = 0;
    PUT(sinf(x));
    PUT(cosf(x));
    PUT(tanf(x));
    PUT(expf(x));
    PUT(logf(p));
    PUT(exp2f(x));
    PUT(log2f(p));
    PUT(log10f(p));
    PUT(exp10f(u));
    PUT(expm1f(u));
    PUT(log1pf(p));
    PUT(sinhf(u));
    PUT(coshf(u));
    PUT(tanhf(u));
    PUT(asinf(u));
    PUT(acosf(u));
    PUT(atanf(x));
    PUT(atan2f(x, 3.0f));
    PUT(powf(p, 1.7f));
    PUT(powf(x, 3.0f));
    PUT(cbrtf(x));
    PUT(rsqrtf(p));
    PUT(hypotf(x, 2.0f));
    PUT(erff(u));
}

// Arguments far beyond the first period, for which the reduction goes through a table in memory.
extern "C" __global__ void large_sine(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sinf(a[i]);
}

extern "C" __global__ void fast_functions(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], p = fabsf(x) + 0.01f;
    int k = 0;
    PUT(__sinf(x * 0.03f));
    PUT(__cosf(x * 0.03f));
    PUT(__expf(x * 0.1f));
    PUT(__logf(p));
    PUT(__log2f(p));
    PUT(__powf(p, 0.5f));
    PUT(__fdividef(x, p));
    PUT(__frsqrt_rn(p));
}

extern "C" __global__ void double_functions(const double* a, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = a[i], p = fabs(x) + 0.01, u = x / 101.0;
    int k = 0;
    PUT(sin(x));
    PUT(cos(x));
    PUT(exp(x));
    PUT(log(p));
    PUT(pow(p, 1.7));
    PUT(cbrt(x));
    PUT(tanh(u));
    PUT(atan(x));
    PUT(asin(u));
    PUT(log2(p));
    PUT(rsqrt(p));
    PUT(hypot(x, 2.0));
}

extern "C" __global__ void mandelbrot(int* out, int width, int height, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float cr = -2.0f + 3.0f * x / width, ci = -1.0f + 2.0f * y / height, zr = 0.0f, zi = 0.0f;
    int steps = 0;
    while (steps < limit && __fadd_rn(__fmul_rn(zr, zr), __fmul_rn(zi, zi)) < 4.0f) {
        float next = __fadd_rn(__fsub_rn(__fmul_rn(zr, zr), __fmul_rn(zi, zi)), cr);
        zi = __fadd_rn(__fmul_rn(__fmul_rn(2.0f, zr), zi), ci);
        zr = next;
        ++steps;
    }
    out[y * width + x] = steps;
}
