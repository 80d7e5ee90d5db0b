// Floating-point arithmetic whose results are exact or correctly rounded. Operation k of element i goes to out[k * n + i].
#define PUT(value) out[k++ * n + i] = (value)

extern "C" __global__ void float_ops(const float* a, const float* b, const float* c, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i], z = c[i];
    int k = 0;
    PUT(__fadd_rn(x, y));
    PUT(__fsub_rn(x, y));
    PUT(__fmul_rn(x, y));
    PUT(x / y);
    PUT(fmaf(x, y, z));
    PUT(sqrtf(x));
    PUT(1.0f / x);
    PUT(fminf(x, y));
    PUT(fmaxf(x, y));
    PUT(fabsf(x));
    PUT(-x);
    PUT(copysignf(x, y));
    PUT(floorf(x));
    PUT(ceilf(x));
    PUT(truncf(x));
    PUT(rintf(x));
    PUT(roundf(x));
    PUT(__saturatef(x));
    PUT((float)(x < y) + 2 * (x == y) + 4 * (x > y) + 8 * (x != y) + 16 * isnan(x) + 32 * isinf(x) + 64 * signbit(x));
    PUT(fdimf(x, y));
    PUT(fmodf(x, 3.7f));
    PUT(nextafterf(x, y));
    PUT(ldexpf(x, 5));
}

extern "C" __global__ void float_rounding(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i];
    int k = 0;
    PUT(__fadd_rz(x, y));
    PUT(__fadd_ru(x, y));
    PUT(__fadd_rd(x, y));
    PUT(__fmul_rz(x, y));
    PUT(__fmul_ru(x, y));
    PUT(__fmul_rd(x, y));
    PUT(__fdiv_rz(x, y));
    PUT(__fdiv_ru(x, y));
    PUT(__fdiv_rd(x, y));
    PUT(__fsqrt_rz(fabsf(x)));
    PUT(__fsqrt_ru(fabsf(x)));
    PUT(__fmaf_rz(x, y, 1.0f));
    PUT(__fmaf_rd(x, y, -1.0f));
    PUT(__frcp_ru(x));
}

extern "C" __global__ void double_ops(const double* a, const double* b, const double* c, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = a[i], y = b[i], z = c[i];
    int k = 0;
    PUT(__dadd_rn(x, y));
    PUT(__dsub_rn(x, y));
    PUT(__dmul_rn(x, y));
    PUT(x / y);
    PUT(fma(x, y, z));
    PUT(sqrt(x));
    PUT(1.0 / x);
    PUT(fmin(x, y));
    PUT(fmax(x, y));
    PUT(fabs(x));
    PUT(floor(x));
    PUT(ceil(x));
    PUT(trunc(x));
    PUT(rint(x));
    PUT(round(x));
    PUT((double)(x < y) + 2 * (x == y) + 4 * (x > y));
    PUT(__dadd_rz(x, y));
    PUT(__dmul_ru(x, y));
    PUT(__ddiv_rd(x, y));
}

// fma.rn rounds once: a product and a sum that round twice give another result.
extern "C" __global__ void float_fma(const float* a, const float* b, const float* c, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = fmaf(a[i], b[i], c[i]);
}

extern "C" __global__ void float_to_integers(const float* a, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i];
    int k = 0;
    PUT((int)x);
    PUT((unsigned)x);
    PUT(__float2int_rn(x));
    PUT(__float2int_ru(x));
    PUT(__float2int_rd(x));
    PUT(__float2uint_rn(x));
    PUT((long long)x);
    PUT((long long)(unsigned long long)x);
    PUT(__float2ll_rn(x));
    PUT(__float_as_int(x));
    PUT((signed char)max(-100.0f, min(100.0f, x)));
    PUT((short)max(-30000.0f, min(30000.0f, x)));
}

extern "C" __global__ void double_to_integers(const double* a, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = a[i];
    int k = 0;
    PUT((int)x);
    PUT((unsigned)x);
    PUT(__double2int_rn(x));
    PUT((long long)x);
    PUT(__double2ll_rd(x));
    PUT(__double_as_longlong(x));
    PUT(__double2hiint(x));
    PUT(__double2loint(x));
    PUT((long long)(unsigned long long)x);
}

extern "C" __global__ void integers_to_float(const long long* a, float* out, double* wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long x = a[i];
    int k = 0;
    PUT((float)(int)x);
    PUT((float)(unsigned)x);
    PUT((float)x);
    PUT((float)(unsigned long long)x);
    PUT((float)(short)x);
    PUT((float)(unsigned char)x);
    PUT(__int2float_rz((int)x));
    PUT(__ll2float_ru(x));
    PUT(__int_as_float((int)x));
    wide[i] = (double)x;
    wide[n + i] = (double)(unsigned long long)x;
    wide[2 * n + i] = (double)(int)x;
    wide[3 * n + i] = (double)out[2 * n + i];
}

extern "C" __global__ void double_to_float(const double* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = 0;
    PUT((float)a[i]);
    PUT(__double2float_rz(a[i]));
    PUT(__double2float_ru(a[i]));
    PUT(__double2float_rd(a[i]));
}

// A Horner scheme and a rounded sum: long chains of dependent operations.
extern "C" __global__ void polynomial(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], s = 0.0f;
    for (int k = 12; k > 0; --k) s = fmaf(s, x, 1.0f / k);
    out[i] = s;
}
