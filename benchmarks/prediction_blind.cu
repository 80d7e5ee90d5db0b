// Kernels that were timed after the model and its coefficients stood: of no family of `prediction_kernels.cu`,
// `prediction_unseen.cu` or a lab.  `prediction_blind.py` says how each is launched.
#define KERNEL extern "C" __global__ void
#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define COL (blockIdx.x * blockDim.x + threadIdx.x)
#define ROW (blockIdx.y * blockDim.y + threadIdx.y)
typedef unsigned int u32;
typedef unsigned char u8;

// -- networks ------------------------------------------------------------------------------------------------------
KERNEL adam_step(float *w, const float *g, float *m, float *v, float rate, int n) { int i = I; if (i >= n) return; float d = g[i], a = 0.9f * m[i] + 0.1f * d, b = 0.999f * v[i] + 0.001f * d * d; m[i] = a; v[i] = b; w[i] -= rate * a / (sqrtf(b) + 1e-8f); }
KERNEL gelu(const float *x, float *y, int n) { int i = I; if (i < n) { float v = x[i]; y[i] = 0.5f * v * (1 + tanhf(0.79788456f * (v + 0.044715f * v * v * v))); } }
KERNEL gated(const float4 *x, const float4 *gate, float4 *y, int n4) { for (int i = I; i < n4; i += gridDim.x * blockDim.x) { float4 a = x[i], g = gate[i]; y[i] = make_float4(a.x / (1 + __expf(-g.x)), a.y / (1 + __expf(-g.y)), a.z / (1 + __expf(-g.z)), a.w / (1 + __expf(-g.w))); } }
KERNEL channel_means(const float *x, float *mean, int images, int channels, int area) { // a block a channel
    __shared__ float s[256]; float sum = 0; int c = blockIdx.x;
    for (int b = 0; b < images; ++b) for (int p = threadIdx.x; p < area; p += blockDim.x) sum += x[(b * channels + c) * area + p];
    s[threadIdx.x] = sum; __syncthreads(); for (int d = 128; d > 0; d >>= 1) { if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d]; __syncthreads(); }
    if (threadIdx.x == 0) mean[c] = s[0] / (images * area);
}
KERNEL add_bias(float *x, const float *bias, int channels, int area, int n) { int i = I; if (i < n) x[i] += bias[i / area % channels]; }
KERNEL max_pool(const float *in, float *out, int w, int h) { int x = COL, y = ROW; if (x >= w / 2 || y >= h / 2) return; const float *p = in + (blockIdx.z * h + 2 * y) * w + 2 * x; out[(blockIdx.z * (h / 2) + y) * (w / 2) + x] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[w], p[w + 1])); }
KERNEL upsample(const float *in, float *out, int w, int h) { int x = COL, y = ROW; if (x < w && y < h) out[(blockIdx.z * h + y) * w + x] = in[(blockIdx.z * (h / 2) + y / 2) * (w / 2) + x / 2]; }
KERNEL image_to_columns(const float *in, float *out, int w, int h) { // 3 x 3 neighbourhoods as rows of a matrix
    int x = COL, y = ROW; if (x >= w || y >= h) return;
    for (int ky = 0; ky < 3; ++ky) for (int kx = 0; kx < 3; ++kx) { int u = x + kx - 1, v = y + ky - 1; out[((ky * 3 + kx) * h + y) * w + x] = u >= 0 && v >= 0 && u < w && v < h ? in[v * w + u] : 0; }
}
KERNEL depthwise(const float *in, const float *weights, float *out, int w, int h) {
    int x = COL, y = ROW, c = blockIdx.z; if (x >= w || y >= h) return; float s = 0;
    for (int ky = -1; ky <= 1; ++ky) for (int kx = -1; kx <= 1; ++kx) { int u = min(max(x + kx, 0), w - 1), v = min(max(y + ky, 0), h - 1); s += in[(c * h + v) * w + u] * weights[c * 9 + (ky + 1) * 3 + kx + 1]; }
    out[(c * h + y) * w + x] = s;
}
KERNEL attention_scores(const float *q, const float *k, float *out, int n) { // 64 numbers a row, tiles of 16 rows
    __shared__ float qs[16][65], ks[16][65]; int tx = threadIdx.x, ty = threadIdx.y;
    for (int d = tx; d < 64; d += 16) { qs[ty][d] = q[(blockIdx.y * 16 + ty) * 64 + d]; ks[ty][d] = k[(blockIdx.x * 16 + ty) * 64 + d]; } __syncthreads();
    float s = 0; for (int d = 0; d < 64; ++d) s += qs[ty][d] * ks[tx][d]; out[(blockIdx.y * 16 + ty) * n + blockIdx.x * 16 + tx] = 0.125f * s;
}
KERNEL rotary(float *x, int heads, int n) { int i = I; if (i >= n) return; int pair = i % 32, place = i / (32 * heads); float angle = place * exp2f(-0.4f * pair), s = __sinf(angle), c = __cosf(angle), a = x[2 * i], b = x[2 * i + 1]; x[2 * i] = a * c - b * s; x[2 * i + 1] = a * s + b * c; }
KERNEL rms_norm(const float4 *in, const float4 *scale, float4 *out, int n4) {
    __shared__ float part[8]; float sum = 0; const float4 *row = in + (size_t)blockIdx.x * n4;
    for (int k = threadIdx.x; k < n4; k += blockDim.x) { float4 v = row[k]; sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w; }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d); if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum; __syncthreads();
    sum = 0; for (int w = 0; w < 8; ++w) sum += part[w]; float r = rsqrtf(sum / (4 * n4) + 1e-6f);
    for (int k = threadIdx.x; k < n4; k += blockDim.x) { float4 v = row[k], s = scale[k]; out[(size_t)blockIdx.x * n4 + k] = make_float4(v.x * s.x * r, v.y * s.y * r, v.z * s.z * r, v.w * s.w * r); }
}
KERNEL product_of_bytes(const int *a, const int *b, int *c, int n, int k4) { // 8-bit integers, four a word
    __shared__ int as[16][17], bs[16][17]; int tx = threadIdx.x, ty = threadIdx.y, row = ROW, col = COL, s = 0;
    for (int m = 0; m < k4; m += 16) { as[ty][tx] = a[row * k4 + m + tx]; bs[ty][tx] = b[(blockIdx.x * 16 + ty) * k4 + m + tx]; __syncthreads(); for (int k = 0; k < 16; ++k) s = __dp4a(as[ty][k], bs[tx][k], s); __syncthreads(); }
    c[row * n + col] = s;
}

// -- equations -----------------------------------------------------------------------------------------------------
KERNEL wave_step(const float *now, const float *before, float *after, int n, float c) { int x = COL, y = ROW; if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return; int i = y * n + x; after[i] = 2 * now[i] - before[i] + c * (now[i - 1] + now[i + 1] + now[i - n] + now[i + n] - 4 * now[i]); }
KERNEL fields_h(const float *ez, float *hx, float *hy, int n) { int x = COL, y = ROW; if (x >= n - 1 || y >= n - 1) return; int i = y * n + x; float e = ez[i]; hx[i] -= 0.5f * (ez[i + n] - e); hy[i] += 0.5f * (ez[i + 1] - e); }
KERNEL lattice_step(const float *f, float *g, int w, int h) { // D2Q9: stream and collide
    int x = COL, y = ROW; if (x >= w || y >= h) return; int n = w * h, l = x ? x - 1 : w - 1, r = x < w - 1 ? x + 1 : 0, u = y ? y - 1 : h - 1, d = y < h - 1 ? y + 1 : 0;
    float f0 = f[y * w + x], f1 = f[n + y * w + l], f2 = f[2 * n + u * w + x], f3 = f[3 * n + y * w + r], f4 = f[4 * n + d * w + x], f5 = f[5 * n + u * w + l], f6 = f[6 * n + u * w + r], f7 = f[7 * n + d * w + r], f8 = f[8 * n + d * w + l];
    float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8 + 1e-6f, ux = (f1 + f5 + f8 - f3 - f6 - f7) / rho, uy = (f2 + f5 + f6 - f4 - f7 - f8) / rho, q = 1 - 1.5f * (ux * ux + uy * uy), w1 = rho / 9, w5 = rho / 36; int i = y * w + x;
    g[i] = 0.4f * f0 + 0.6f * (4 * w1 * q); g[n + i] = 0.4f * f1 + 0.6f * w1 * (q + 3 * ux + 4.5f * ux * ux); g[2 * n + i] = 0.4f * f2 + 0.6f * w1 * (q + 3 * uy + 4.5f * uy * uy); g[3 * n + i] = 0.4f * f3 + 0.6f * w1 * (q - 3 * ux + 4.5f * ux * ux); g[4 * n + i] = 0.4f * f4 + 0.6f * w1 * (q - 3 * uy + 4.5f * uy * uy);
    float a = ux + uy, b = uy - ux; g[5 * n + i] = 0.4f * f5 + 0.6f * w5 * (q + 3 * a + 4.5f * a * a); g[6 * n + i] = 0.4f * f6 + 0.6f * w5 * (q + 3 * b + 4.5f * b * b); g[7 * n + i] = 0.4f * f7 + 0.6f * w5 * (q - 3 * a + 4.5f * a * a); g[8 * n + i] = 0.4f * f8 + 0.6f * w5 * (q - 3 * b + 4.5f * b * b);
}
KERNEL reaction(const float *u, const float *v, float *u2, float *v2, int n) { // Gray-Scott by tiles
    __shared__ float a[18][34], b[18][34]; int tx = threadIdx.x, ty = threadIdx.y;
    for (int k = ty * 32 + tx; k < 18 * 34; k += 512) { int x = (blockIdx.x * 32 + k % 34 + n - 1) % n, y = (blockIdx.y * 16 + k / 34 + n - 1) % n; a[k / 34][k % 34] = u[y * n + x]; b[k / 34][k % 34] = v[y * n + x]; } __syncthreads();
    float p = a[ty + 1][tx + 1], q = b[ty + 1][tx + 1], lp = a[ty][tx + 1] + a[ty + 2][tx + 1] + a[ty + 1][tx] + a[ty + 1][tx + 2] - 4 * p, lq = b[ty][tx + 1] + b[ty + 2][tx + 1] + b[ty + 1][tx] + b[ty + 1][tx + 2] - 4 * q, r = p * q * q; int i = ROW * n + COL;
    u2[i] = p + 0.16f * lp - r + 0.035f * (1 - p); v2[i] = q + 0.08f * lq + r - 0.1f * q;
}
KERNEL red_black(float *a, const float *b, int n, int colour) { int x = 2 * COL + 1, y = ROW + 1; x += (y + colour) % 2; if (x < n - 1 && y < n - 1) a[y * n + x] = 0.25f * (a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x] + a[(y + 1) * n + x] - b[y * n + x]); }
KERNEL thomas(const float *a, const float *b, const float *c, float *d, float *scratch, int systems, int n) { // a thread a tridiagonal system, element by element apart
    int s = I; if (s >= systems) return; float below = c[s] / (b[s] + 2), value = d[s] / (b[s] + 2); scratch[s] = below; d[s] = value;
    for (int k = 1; k < n; ++k) { int i = k * systems + s; float m = 1 / (b[i] + 2 - a[i] * below); below = c[i] * m; value = (d[i] - a[i] * value) * m; scratch[i] = below; d[i] = value; }
    for (int k = n - 2; k >= 0; --k) { int i = k * systems + s; value = d[i] - scratch[i] * value; d[i] = value; }
}
KERNEL diagonals_times_vector(const float *a, const float *x, float *y, int n, int bands) { int r = I; if (r >= n) return; float s = 0; for (int b = 0; b < bands; ++b) { int c = r + (b - bands / 2) * 64; if (c >= 0 && c < n) s += a[b * n + r] * x[c]; } y[r] = s; }
KERNEL inverses_3x3(const float *a, float *b, int n) { // a plane an entry
    int i = I; if (i >= n) return; float m[9]; for (int k = 0; k < 9; ++k) m[k] = a[k * n + i];
    float c0 = m[4] * m[8] - m[5] * m[7], c1 = m[5] * m[6] - m[3] * m[8], c2 = m[3] * m[7] - m[4] * m[6], r = 1 / (m[0] * c0 + m[1] * c1 + m[2] * c2 + 1e-3f);
    b[i] = c0 * r; b[n + i] = (m[2] * m[7] - m[1] * m[8]) * r; b[2 * n + i] = (m[1] * m[5] - m[2] * m[4]) * r; b[3 * n + i] = c1 * r; b[4 * n + i] = (m[0] * m[8] - m[2] * m[6]) * r; b[5 * n + i] = (m[2] * m[3] - m[0] * m[5]) * r; b[6 * n + i] = c2 * r; b[7 * n + i] = (m[1] * m[6] - m[0] * m[7]) * r; b[8 * n + i] = (m[0] * m[4] - m[1] * m[3]) * r;
}
KERNEL cholesky_16(const float *a, float *l) { // a block of 16 x 16 threads a matrix
    __shared__ float s[16][17]; int x = threadIdx.x, y = threadIdx.y, at = blockIdx.x * 256 + y * 16 + x; s[y][x] = a[at] + (x == y ? 20 : 0); __syncthreads();
    for (int k = 0; k < 16; ++k) { if (y == k && x == k) s[k][k] = sqrtf(s[k][k]); __syncthreads(); if (x == k && y > k) s[y][k] /= s[k][k]; __syncthreads(); if (x > k && y >= x) s[y][x] -= s[y][k] * s[x][k]; __syncthreads(); }
    l[at] = x <= y ? s[y][x] : 0;
}
KERNEL heat_double(const double *in, double *out, int n) { __shared__ double s[10][34]; int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = COL + 1, y = ROW + 1, i = y * n + x; s[ty][tx] = in[i]; if (tx == 1) s[ty][0] = in[i - 1]; if (tx == 32) s[ty][33] = in[i + 1]; if (ty == 1) s[0][tx] = in[i - n]; if (ty == 8) s[9][tx] = in[i + n]; __syncthreads(); out[i] = s[ty][tx] + 0.1 * (s[ty - 1][tx] + s[ty + 1][tx] + s[ty][tx - 1] + s[ty][tx + 1] - 4 * s[ty][tx]); }
KERNEL dot_double(const double2 *a, const double2 *b, double *out, int n2) { double s = 0; for (int i = I; i < n2; i += gridDim.x * blockDim.x) { double2 u = a[i], v = b[i]; s += u.x * v.x + u.y * v.y; } for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d); __shared__ double p[8]; if (threadIdx.x % 32 == 0) p[threadIdx.x / 32] = s; __syncthreads(); if (threadIdx.x == 0) { for (int w = 1; w < 8; ++w) s += p[w]; out[blockIdx.x] = s; } }

// -- images --------------------------------------------------------------------------------------------------------
KERNEL bilateral(const float *in, float *out, int w, int h) { int x = COL, y = ROW; if (x < 2 || y < 2 || x >= w - 2 || y >= h - 2) return; float c = in[y * w + x], s = 0, t = 0; for (int v = -2; v <= 2; ++v) for (int u = -2; u <= 2; ++u) { float p = in[(y + v) * w + x + u], d = p - c, g = __expf(-0.1f * (u * u + v * v) - 8 * d * d); s += g * p; t += g; } out[y * w + x] = s / t; }
KERNEL median(const float *in, float *out, int w, int h) { int x = COL, y = ROW; if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return; float p[9]; for (int k = 0; k < 9; ++k) p[k] = in[(y + k / 3 - 1) * w + x + k % 3 - 1];
#pragma unroll
    for (int i = 0; i < 5; ++i)
#pragma unroll
        for (int j = i + 1; j < 9; ++j) { float a = fminf(p[i], p[j]), b = fmaxf(p[i], p[j]); p[i] = a; p[j] = b; }
    out[y * w + x] = p[4]; }
KERNEL blend(const uchar4 *a, const uchar4 *b, uchar4 *c, int n) { int i = I; if (i >= n) return; uchar4 p = a[i], q = b[i]; int t = q.w, s = 255 - t; c[i] = make_uchar4((p.x * s + q.x * t) / 255, (p.y * s + q.y * t) / 255, (p.z * s + q.z * t) / 255, 255); }
KERNEL to_luma(const uchar4 *in, u8 *y, u8 *u, u8 *v, int n) { int i = I; if (i >= n) return; uchar4 p = in[i]; y[i] = (66 * p.x + 129 * p.y + 25 * p.z + 4224) >> 8; u[i] = (-38 * p.x - 74 * p.y + 112 * p.z + 32896) >> 8; v[i] = (112 * p.x - 94 * p.y - 18 * p.z + 32896) >> 8; }
KERNEL gamma_correct(const float *in, float *out, float g, int n) { int i = I; if (i < n) out[i] = powf(in[i], g); }
KERNEL rotate_image(const float *in, float *out, int n, float c, float s) { int x = COL, y = ROW; if (x >= n || y >= n) return; float u = c * (x - n / 2) - s * (y - n / 2) + n / 2, v = s * (x - n / 2) + c * (y - n / 2) + n / 2; int i = u, j = v; out[y * n + x] = i >= 0 && j >= 0 && i < n && j < n ? in[j * n + i] : 0; }
KERNEL cosines_8x8(const float *in, float *out, int w) { // each block 8 x 8 of the image, as JPEG has them
    __shared__ float t[8][8], s[8][8]; int x = threadIdx.x, y = threadIdx.y, at = (blockIdx.y * 8 + y) * w + blockIdx.x * 8 + x; t[y][x] = in[at]; __syncthreads();
    float v = 0; for (int k = 0; k < 8; ++k) v += t[y][k] * __cosf(0.19634954f * (2 * k + 1) * x); s[y][x] = v; __syncthreads(); v = 0; for (int k = 0; k < 8; ++k) v += s[k][x] * __cosf(0.19634954f * (2 * k + 1) * y); out[at] = 0.25f * v;
}
KERNEL haar_rows(const float *in, float *out, int n) { int x = COL, y = ROW; if (2 * x >= n) return; float a = in[y * n + 2 * x], b = in[y * n + 2 * x + 1]; out[y * n + x] = (a + b) * 0.70710678f; out[y * n + n / 2 + x] = (a - b) * 0.70710678f; }
KERNEL haar_columns(const float *in, float *out, int n) { int x = COL, y = ROW; if (2 * y >= n) return; float a = in[2 * y * n + x], b = in[(2 * y + 1) * n + x]; out[y * n + x] = (a + b) * 0.70710678f; out[(n / 2 + y) * n + x] = (a - b) * 0.70710678f; }
KERNEL brightest_along(const float *in, float *out, int n) { int x = COL, y = ROW; if (x >= n || y >= n) return; float top = 0; for (int z = 0; z < n; ++z) top = fmaxf(top, in[(z * n + y) * n + x]); out[y * n + x] = top; }
KERNEL axes_exchanged(const float *in, float *out, int n) { // x and z, by tiles
    __shared__ float t[16][17]; int y = blockIdx.z; t[threadIdx.y][threadIdx.x] = in[((blockIdx.y * 16 + threadIdx.y) * n + y) * n + blockIdx.x * 16 + threadIdx.x]; __syncthreads(); out[((blockIdx.x * 16 + threadIdx.y) * n + y) * n + blockIdx.y * 16 + threadIdx.x] = t[threadIdx.x][threadIdx.y];
}

// -- numbers, codes ------------------------------------------------------------------------------------------------
KERNEL pi_by_chance(float *out, int tries) { u32 a = I * 2654435761u + 88675123u; int hits = 0; for (int k = 0; k < tries; ++k) { a ^= a << 13; a ^= a >> 17; a ^= a << 5; float x = (a >> 16) * 1.52588e-5f, y = (a & 65535) * 1.52588e-5f; hits += x * x + y * y < 1; } float s = hits; for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d); if (threadIdx.x % 32 == 0) out[I / 32] = s; }
KERNEL integrate(float *out, int steps, float h) { float s = 0, x = I * steps * h; for (int k = 0; k < steps; ++k, x += h) s += sqrtf(1 + x * x) * h; out[I] = s; }
KERNEL skip_ahead(unsigned long long *out, int n, int steps) { int i = I; if (i >= n) return; unsigned long long x = i; for (int k = 0; k < steps; ++k) x = x * 6364136223846793005ull + 1442695040888963407ull; out[i] = x; }
KERNEL mixing_rounds(const uint4 *in, uint4 *out, int n, int rounds) { int i = I; if (i >= n) return; uint4 s = in[i]; for (int k = 0; k < rounds; ++k) { s.x += s.y; s.w = __funnelshift_l(s.w ^ s.x, s.w ^ s.x, 16); s.z += s.w; s.y = __funnelshift_l(s.y ^ s.z, s.y ^ s.z, 12); s.x += s.y; s.w = __funnelshift_l(s.w ^ s.x, s.w ^ s.x, 8); s.z += s.w; s.y = __funnelshift_l(s.y ^ s.z, s.y ^ s.z, 7); } out[i] = s; }
KERNEL hash_records(const u32 *in, u32 *out, int n) { int i = I; if (i >= n) return; u32 h = 2166136261u; for (int k = 0; k < 16; ++k) h = (h ^ in[16 * i + k]) * 16777619u; out[i] = h; }
KERNEL count_bits(const uint4 *in, int *out, int n) { int c = 0; for (int i = I; i < n; i += gridDim.x * blockDim.x) { uint4 v = in[i]; c += __popc(v.x) + __popc(v.y) + __popc(v.z) + __popc(v.w); } c = __reduce_add_sync(0xffffffff, c); if (threadIdx.x % 32 == 0) atomicAdd(out, c); }
KERNEL count_matches(const u8 *in, int *out, int n) { int i = I; if (i >= n - 4) return; bool hit = in[i] == 'c' & in[i + 1] == 'u' & in[i + 2] == 'd' & in[i + 3] == 'a'; u32 votes = __ballot_sync(__activemask(), hit); if (threadIdx.x % 32 == 0) out[i / 32] = __popc(votes); }
KERNEL primes_by_trial(u8 *out, int n, int most) { int i = I; if (i >= n) return; int p = 1; for (int d = 3; d <= most; d += 2) p &= (2 * i + 1) % d != 0; out[i] = p; }

// -- points, signals -----------------------------------------------------------------------------------------------
KERNEL nearest_centre(const float *x, const float *y, const float *cx, const float *cy, int *out, int n, int k) { extern __shared__ float s[]; for (int c = threadIdx.x; c < k; c += blockDim.x) { s[c] = cx[c]; s[k + c] = cy[c]; } __syncthreads(); int i = I; if (i >= n) return; float px = x[i], py = y[i], best = 1e30f; int at = 0; for (int c = 0; c < k; ++c) { float dx = s[c] - px, dy = s[k + c] - py, d = dx * dx + dy * dy; at = d < best ? c : at; best = fminf(best, d); } out[i] = at; }
KERNEL slow_transform(const float *in, float2 *out, int n) { int k = I; float re = 0, im = 0; for (int m = 0; m < n; ++m) { float a = -6.2831853f / n * (k * m % n), v = in[m]; re += v * __cosf(a); im += v * __sinf(a); } out[k] = make_float2(re, im); }
KERNEL potential_map(const float4 *atoms, float *out, int n, int count) { // charges in shared memory, a plane of points
    __shared__ float4 s[128]; int x = COL, y = ROW, t = threadIdx.y * 16 + threadIdx.x; float v = 0;
    for (int m = 0; m < count; m += 128) { if (t < 128) s[t] = atoms[m + t]; __syncthreads(); for (int k = 0; k < 128; ++k) { float dx = s[k].x - x, dy = s[k].y - y, dz = s[k].z; v += s[k].w * rsqrtf(dx * dx + dy * dy + dz * dz + 0.1f); } __syncthreads(); } out[y * n + x] = v;
}
KERNEL springs(const float2 *p, float2 *v, int w, int h) { // a cloth: the four neighbours
    int x = COL, y = ROW; if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return; float2 c = p[y * w + x], f = make_float2(0, -9.8f); const int dx[4] = {-1, 1, 0, 0}, dy[4] = {0, 0, -1, 1};
#pragma unroll
    for (int k = 0; k < 4; ++k) { float2 q = p[(y + dy[k]) * w + x + dx[k]]; float ex = q.x - c.x, ey = q.y - c.y, l = sqrtf(ex * ex + ey * ey + 1e-6f), s = 50 * (l - 1) / l; f.x += s * ex; f.y += s * ey; }
    v[y * w + x].x += 0.01f * f.x; v[y * w + x].y += 0.01f * f.y;
}
KERNEL autocorrelation(const float *in, float *out, int n, int lags) { __shared__ float part[32]; int lag = blockIdx.x; float s = 0; for (int i = threadIdx.x; i < n - lag; i += blockDim.x) s += in[i] * in[i + lag]; for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d); if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s; __syncthreads(); if (threadIdx.x < 32) { s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0; for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(0xffffffff, s, d); if (threadIdx.x == 0) out[lag] = s; } }
KERNEL moving_average(const float *in, float *out, int n, int window) { int first = I * 32; float s = 0; if (first + 32 + window > n) return; for (int k = 0; k < window; ++k) s += in[first + k]; for (int k = 0; k < 32; ++k) { out[first + k] = s / window; s += in[first + k + window] - in[first + k]; } }
KERNEL windowed(const float *in, float *out, int n, int size) { int i = I; if (i < n) { int k = i % size; out[i] = in[i] * (0.54f - 0.46f * __cosf(6.2831853f * k / (size - 1))); } }
KERNEL argmax_rows(const float *in, int *out, int cols) { // a block a row
    __shared__ float value[256]; __shared__ int place[256]; int t = threadIdx.x, at = 0; float top = -1e30f; for (int c = t; c < cols; c += 256) { float v = in[blockIdx.x * cols + c]; at = v > top ? c : at; top = fmaxf(v, top); } value[t] = top; place[t] = at; __syncthreads();
    for (int d = 128; d > 0; d /= 2) { if (t < d) { bool more = value[t + d] > value[t]; place[t] = more ? place[t + d] : place[t]; value[t] = fmaxf(value[t], value[t + d]); } __syncthreads(); } if (t == 0) out[blockIdx.x] = place[0];
}
KERNEL variance_columns(const float *in, float *out, int rows, int cols) { __shared__ float s[8][33], q[8][33]; int c = blockIdx.x * 32 + threadIdx.x; float a = 0, b = 0; for (int r = threadIdx.y; r < rows; r += 8) { float v = in[r * cols + c]; a += v; b += v * v; } s[threadIdx.y][threadIdx.x] = a; q[threadIdx.y][threadIdx.x] = b; __syncthreads(); if (threadIdx.y == 0) { for (int k = 1; k < 8; ++k) { a += s[k][threadIdx.x]; b += q[k][threadIdx.x]; } out[c] = b / rows - a / rows * a / rows; } }
KERNEL compact_pairs(const float2 *in, float *out, int n) { __shared__ float2 s[256]; int t = threadIdx.x; s[t] = in[I]; __syncthreads(); float a = s[t].x, b = s[255 - t].y; out[2 * I] = fminf(a, b); out[2 * I + 1] = fmaxf(a, b); }
