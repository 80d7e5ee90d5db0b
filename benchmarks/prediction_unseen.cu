// Kernels that the model of times was not made with: written after it, of no family of `prediction_kernels.cu` nor of a
// lab, in the ways that courses and tutorials write them.  `prediction_unseen.py` says how each is launched.
#define KERNEL extern "C" __global__ void
#define I (blockIdx.x * blockDim.x + threadIdx.x)
#define COL (blockIdx.x * blockDim.x + threadIdx.x)
#define ROW (blockIdx.y * blockDim.y + threadIdx.y)

// -- vectors -------------------------------------------------------------------------------------------------------
KERNEL add_four_apart(const float *a, const float *b, float *c, int n) { int i = blockIdx.x * blockDim.x * 4 + threadIdx.x; for (int k = 0; k < 4; ++k, i += blockDim.x) if (i < n) c[i] = a[i] + b[i]; }
KERNEL add_neighbours(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n) { int i = 4 * I; if (i + 3 < n) { c[i] = a[i] + b[i]; c[i + 1] = a[i + 1] + b[i + 1]; c[i + 2] = a[i + 2] + b[i + 2]; c[i + 3] = a[i + 3] + b[i + 3]; } }
KERNEL split_complex(const float2 *z, float *re, float *im, int n) { int i = I; if (i < n) { float2 v = z[i]; re[i] = v.x; im[i] = v.y; } }
KERNEL join_complex(const float *re, const float *im, float *z, int n) { int i = I; if (i < n) { z[2 * i] = re[i]; z[2 * i + 1] = im[i]; } }
KERNEL mirror(const float *in, float *out, int n) { int i = I; if (i < n) out[n - 1 - i] = in[i]; }
KERNEL mirror_shared(const float *in, float *out, int n) { extern __shared__ float s[]; s[blockDim.x - 1 - threadIdx.x] = in[I]; __syncthreads(); out[(gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x] = s[threadIdx.x]; }
KERNEL shuffle_cards(const float *in, float *out, int n) { int i = I; if (i < n) out[(long long)i * 17 % n] = in[i]; }
KERNEL black_scholes(const float *s, const float *x, const float *t, float *call, float *put, int n) {
    int i = I; if (i >= n) return;
    float root = sqrtf(t[i]), d1 = (logf(s[i] / x[i]) + (0.02f + 0.5f * 0.09f) * t[i]) / (0.3f * root), d2 = d1 - 0.3f * root;
    float k1 = 1.0f / (1.0f + 0.2316419f * fabsf(d1)), k2 = 1.0f / (1.0f + 0.2316419f * fabsf(d2));
    float c1 = 0.39894228f * expf(-0.5f * d1 * d1) * k1 * (0.31938153f + k1 * (-0.356563782f + k1 * (1.781477937f + k1 * (-1.821255978f + k1 * 1.330274429f))));
    float c2 = 0.39894228f * expf(-0.5f * d2 * d2) * k2 * (0.31938153f + k2 * (-0.356563782f + k2 * (1.781477937f + k2 * (-1.821255978f + k2 * 1.330274429f))));
    c1 = d1 > 0 ? 1.0f - c1 : c1; c2 = d2 > 0 ? 1.0f - c2 : c2;
    float e = expf(-0.02f * t[i]); call[i] = s[i] * c1 - x[i] * e * c2; put[i] = x[i] * e * (1.0f - c2) - s[i] * (1.0f - c1);
}
KERNEL random_walks(float *out, int n, int steps) { int i = I; if (i >= n) return; unsigned x = i * 747796405u + 1; float sum = 0; for (int k = 0; k < steps; ++k) { x = x * 1664525u + 1013904223u; sum += (x >> 8) * 5.96e-8f - 0.5f; } out[i] = sum; }
KERNEL small_divisors(int *out, int n) { int i = I; if (i >= n) return; int count = 0; for (int d = 2; d < 64; ++d) if (i % d == 0) ++count; out[i] = count; }
KERNEL julia(float *out, int n, int most) { int x = COL, y = ROW; if (x >= n || y >= n) return; float a = 3.0f * x / n - 1.5f, b = 3.0f * y / n - 1.5f; int k = 0; while (k < most && a * a + b * b < 4) { float t = a * a - b * b - 0.8f; b = 2 * a * b + 0.156f; a = t; ++k; } out[y * n + x] = k; }
KERNEL odd_even_work(const float *in, float *out, int n) { int i = I; if (i >= n) return; float v = in[i]; if (threadIdx.x % 2 == 0) for (int k = 0; k < 32; ++k) v = v * 1.01f + 0.5f; else for (int k = 0; k < 32; ++k) v = sqrtf(v + k); out[i] = v; }

// -- sums ----------------------------------------------------------------------------------------------------------
KERNEL dot_shared(const float *a, const float *b, float *out, int n) {
    __shared__ float cache[256]; float mine = 0; for (int i = I; i < n; i += blockDim.x * gridDim.x) mine += a[i] * b[i];
    cache[threadIdx.x] = mine; __syncthreads();
    int i = blockDim.x / 2; while (i != 0) { if (threadIdx.x < i) cache[threadIdx.x] += cache[threadIdx.x + i]; __syncthreads(); i /= 2; }
    if (threadIdx.x == 0) out[blockIdx.x] = cache[0];
}
__device__ float warp_sum(float v) { for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d); return v; }
KERNEL sum_shuffles(const float *in, float *out, int n) {
    __shared__ float part[32]; float v = I < n ? in[I] : 0; v = warp_sum(v); if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v; __syncthreads();
    if (threadIdx.x < 32) { v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0; v = warp_sum(v); if (threadIdx.x == 0) atomicAdd(out, v); }
}
KERNEL sum_two_at_load(const float *in, float *out) {
    extern __shared__ float s[]; int t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t; s[t] = in[i] + in[i + blockDim.x]; __syncthreads();
    for (int d = blockDim.x / 2; d > 32; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
    if (t < 32) { volatile float *v = s; v[t] += v[t + 32]; v[t] += v[t + 16]; v[t] += v[t + 8]; v[t] += v[t + 4]; v[t] += v[t + 2]; v[t] += v[t + 1]; if (t == 0) out[blockIdx.x] = v[0]; }
}
KERNEL row_sums_thread(const float *a, float *out, int rows, int cols) { int r = I; if (r < rows) { float s = 0; for (int c = 0; c < cols; ++c) s += a[r * cols + c]; out[r] = s; } }
KERNEL column_sums(const float *a, float *out, int rows, int cols) { int c = I; if (c < cols) { float s = 0; for (int r = 0; r < rows; ++r) s += a[r * cols + c]; out[c] = s; } }
KERNEL column_sums_strips(const float *a, float *out, int rows, int cols) { int c = COL; float s = 0; for (int r = blockIdx.y; r < rows; r += gridDim.y) s += a[r * cols + c]; atomicAdd(&out[c], s); }
KERNEL layer_norm(const float *in, float *out, int n) {
    __shared__ float s[2]; if (threadIdx.x < 2) s[threadIdx.x] = 0; __syncthreads();
    float sum = 0, squares = 0; for (int k = threadIdx.x; k < n; k += blockDim.x) { float v = in[blockIdx.x * n + k]; sum += v; squares += v * v; }
    sum = warp_sum(sum); squares = warp_sum(squares); if (threadIdx.x % 32 == 0) { atomicAdd(&s[0], sum); atomicAdd(&s[1], squares); } __syncthreads();
    float mean = s[0] / n, scale = rsqrtf(s[1] / n - mean * mean + 1e-5f); for (int k = threadIdx.x; k < n; k += blockDim.x) out[blockIdx.x * n + k] = (in[blockIdx.x * n + k] - mean) * scale;
}
KERNEL softmax_by_warp(const float *in, float *out, int rows, int n) {
    int row = I / 32, lane = threadIdx.x % 32; if (row >= rows) return; float top = -1e30f, sum = 0;
    for (int k = lane; k < n; k += 32) top = fmaxf(top, in[row * n + k]); for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, d));
    for (int k = lane; k < n; k += 32) sum += __expf(in[row * n + k] - top); sum = warp_sum(sum);
    for (int k = lane; k < n; k += 32) out[row * n + k] = __expf(in[row * n + k] - top) / sum;
}
KERNEL scan_in_place(float *a) { __shared__ float s[512]; int t = threadIdx.x; s[t] = a[I]; for (int d = 1; d < blockDim.x; d *= 2) { __syncthreads(); float v = t >= d ? s[t - d] : 0; __syncthreads(); s[t] += v; } a[I] = s[t]; }
KERNEL scan_by_warps(const float *in, float *out) {
    __shared__ float ends[32]; int lane = threadIdx.x % 32, w = threadIdx.x / 32; float v = in[I];
    for (int d = 1; d < 32; d *= 2) { float u = __shfl_up_sync(0xffffffff, v, d); if (lane >= d) v += u; }
    if (lane == 31) ends[w] = v; __syncthreads();
    if (w == 0) { float e = ends[lane]; for (int d = 1; d < 32; d *= 2) { float u = __shfl_up_sync(0xffffffff, e, d); if (lane >= d) e += u; } ends[lane] = e; } __syncthreads();
    out[I] = v + (w > 0 ? ends[w - 1] : 0);
}

// -- matrices ------------------------------------------------------------------------------------------------------
KERNEL matrix_add(const float *a, const float *b, float *c, int rows, int cols) { int x = COL, y = ROW; if (x < cols && y < rows) c[y * cols + x] = a[y * cols + x] + b[y * cols + x]; }
KERNEL matrix_add_row(const float *a, const float *b, float *c, int rows, int cols) { int r = I; if (r < rows) for (int k = 0; k < cols; ++k) c[r * cols + k] = a[r * cols + k] + b[r * cols + k]; }
KERNEL matrix_add_swapped(const float *a, const float *b, float *c, int rows, int cols) { int y = COL, x = ROW; if (x < cols && y < rows) c[y * cols + x] = a[y * cols + x] + b[y * cols + x]; }
KERNEL outer(const float *x, const float *y, float *c, int n) { int j = COL, i = ROW; if (i < n && j < n) c[i * n + j] = x[i] * y[j]; }
KERNEL turn_in_registers(const float4 *in, float4 *out, int n4) { // a thread turns 4 x 4 elements
    int x = COL, y = ROW; if (x >= n4 || y >= n4) return; float4 r[4]; for (int k = 0; k < 4; ++k) r[k] = in[(4 * y + k) * n4 + x];
    out[(4 * x) * n4 + y] = make_float4(r[0].x, r[1].x, r[2].x, r[3].x); out[(4 * x + 1) * n4 + y] = make_float4(r[0].y, r[1].y, r[2].y, r[3].y);
    out[(4 * x + 2) * n4 + y] = make_float4(r[0].z, r[1].z, r[2].z, r[3].z); out[(4 * x + 3) * n4 + y] = make_float4(r[0].w, r[1].w, r[2].w, r[3].w);
}
KERNEL turn_diagonal(const float *in, float *out, int n) {
    __shared__ float tile[32][33]; int bx = (blockIdx.x + blockIdx.y) % gridDim.x, by = blockIdx.x, x = bx * 32 + threadIdx.x, y = by * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 16) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x]; __syncthreads();
    x = by * 32 + threadIdx.x; y = bx * 32 + threadIdx.y; for (int k = 0; k < 32; k += 16) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}
KERNEL gemm_guarded(const float *A, const float *B, float *C, int n, float alpha, float beta) {
    __shared__ float As[16][16], Bs[16][16]; int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty; float v = 0;
    for (int m = 0; m < (n + 15) / 16; ++m) {
        As[ty][tx] = row < n && m * 16 + tx < n ? A[row * n + m * 16 + tx] : 0; Bs[ty][tx] = col < n && m * 16 + ty < n ? B[(m * 16 + ty) * n + col] : 0; __syncthreads();
        for (int k = 0; k < 16; ++k) v += As[ty][k] * Bs[k][tx]; __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = alpha * v + beta * C[row * n + col];
}
KERNEL gemm_coarse(const float *A, const float *B, float *C, int n) { // block 32 x 8, a thread four columns apart
    __shared__ float As[8][32], Bs[32][128]; int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty, col = blockIdx.x * 128 + tx; float v[4] = {};
    for (int m = 0; m < n; m += 32) {
        As[ty][tx] = A[row * n + m + tx]; for (int k = ty; k < 32; k += 8) for (int c = 0; c < 4; ++c) Bs[k][tx + 32 * c] = B[(m + k) * n + col + 32 * c]; __syncthreads();
        for (int k = 0; k < 32; ++k) for (int c = 0; c < 4; ++c) v[c] += As[ty][k] * Bs[k][tx + 32 * c]; __syncthreads();
    }
    for (int c = 0; c < 4; ++c) C[row * n + col + 32 * c] = v[c];
}
KERNEL gemm_two_by_two(const float *__restrict__ A, const float *__restrict__ B, float *C, int n) { int c = 2 * COL, r = 2 * ROW; if (c >= n || r >= n) return; float s00 = 0, s01 = 0, s10 = 0, s11 = 0; for (int k = 0; k < n; ++k) { float a0 = A[r * n + k], a1 = A[(r + 1) * n + k], b0 = B[k * n + c], b1 = B[k * n + c + 1]; s00 += a0 * b0; s01 += a0 * b1; s10 += a1 * b0; s11 += a1 * b1; } C[r * n + c] = s00; C[r * n + c + 1] = s01; C[(r + 1) * n + c] = s10; C[(r + 1) * n + c + 1] = s11; }
KERNEL mat4_products(const float *a, const float *b, float *c, int count) { int m = I; if (m >= count) return; float x[16], y[16]; for (int k = 0; k < 16; ++k) { x[k] = a[16 * m + k]; y[k] = b[16 * m + k]; } for (int i = 0; i < 4; ++i) for (int j = 0; j < 4; ++j) { float s = 0; for (int k = 0; k < 4; ++k) s += x[4 * i + k] * y[4 * k + j]; c[16 * m + 4 * i + j] = s; } }
KERNEL vector_shared(const float *a, const float *x, float *y, int n) { __shared__ float s[256]; int row = I; float sum = 0; for (int m = 0; m < n; m += 256) { s[threadIdx.x] = x[m + threadIdx.x]; __syncthreads(); if (row < n) for (int k = 0; k < 256; ++k) sum += a[(m + k) * n + row] * s[k]; __syncthreads(); } if (row < n) y[row] = sum; }
KERNEL triangle_times_vector(const float *a, const float *x, float *y, int n) { int r = I; if (r < n) { float s = 0; for (int c = 0; c <= r; ++c) s += a[c * n + r] * x[c]; y[r] = s; } }
KERNEL eliminate(float *a, int n, int pivot) { int c = COL, r = ROW; if (r > pivot && c > pivot && r < n && c < n) a[r * n + c] -= a[r * n + pivot] / a[pivot * n + pivot] * a[pivot * n + c]; }
KERNEL shortest_paths(float *d, int n, int k) { int j = COL, i = ROW; if (i < n && j < n) d[i * n + j] = fminf(d[i * n + j], d[i * n + k] + d[k * n + j]); }
KERNEL distance_matrix(const float *p, float *out, int n, int dims) { int j = COL, i = ROW; if (i < n && j < n) { float s = 0; for (int d = 0; d < dims; ++d) { float t = p[i * dims + d] - p[j * dims + d]; s += t * t; } out[i * n + j] = sqrtf(s); } }

// -- stencils, images ----------------------------------------------------------------------------------------------
KERNEL stencil_1d(const float *in, float *out, int n) {
    __shared__ float s[256 + 6]; int i = I, l = threadIdx.x + 3; s[l] = in[i]; if (threadIdx.x < 3) { s[l - 3] = i >= 3 ? in[i - 3] : 0; s[l + 256] = i + 256 < n ? in[i + 256] : 0; } __syncthreads();
    float v = 0; for (int k = -3; k <= 3; ++k) v += s[l + k]; out[i] = v;
}
KERNEL heat_steps(const float *in, float *out, int steps) { __shared__ float s[2][256]; int t = threadIdx.x, at = 0; s[0][t] = in[I]; __syncthreads(); for (int k = 0; k < steps; ++k) { float l = s[at][max(t - 1, 0)], r = s[at][min(t + 1, 255)]; s[1 - at][t] = s[at][t] + 0.1f * (l + r - 2 * s[at][t]); at = 1 - at; __syncthreads(); } out[I] = s[at][t]; }
KERNEL laplace_point(const float *in, float *out, int n) { int x = COL, y = ROW, z = blockIdx.z * blockDim.z + threadIdx.z; if (x < 1 || y < 1 || z < 1 || x >= n - 1 || y >= n - 1 || z >= n - 1) return; int i = (z * n + y) * n + x; out[i] = in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n] - 6.0f * in[i]; }
KERNEL laplace_walk(const float *in, float *out, int n) { int x = COL, y = ROW; if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return; int plane = n * n, i = y * n + x; float below = in[i], here = in[i + plane]; for (int z = 1; z < n - 1; ++z) { i += plane; float above = in[i + plane]; out[i] = in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + below + above - 6.0f * here; below = here; here = above; } }
KERNEL laplace_tile(const float *in, float *out, int n) {
    __shared__ float s[18][18]; int tx = threadIdx.x, ty = threadIdx.y, x = COL, y = ROW; if (x >= n || y >= n) return; s[ty + 1][tx + 1] = in[y * n + x];
    if (tx == 0) s[ty + 1][0] = x > 0 ? in[y * n + x - 1] : 0; if (tx == 15) s[ty + 1][17] = x < n - 1 ? in[y * n + x + 1] : 0; if (ty == 0) s[0][tx + 1] = y > 0 ? in[(y - 1) * n + x] : 0; if (ty == 15) s[17][tx + 1] = y < n - 1 ? in[(y + 1) * n + x] : 0; __syncthreads();
    out[y * n + x] = s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2] - 4 * s[ty + 1][tx + 1];
}
KERNEL sobel(const unsigned char *in, unsigned char *out, int w, int h) { int x = COL, y = ROW; if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return; const unsigned char *p = in + y * w + x; int gx = p[1 - w] + 2 * p[1] + p[1 + w] - p[-1 - w] - 2 * p[-1] - p[-1 + w], gy = p[w - 1] + 2 * p[w] + p[w + 1] - p[-w - 1] - 2 * p[-w] - p[-w + 1]; out[y * w + x] = min(255, abs(gx) + abs(gy)); }
__constant__ float gauss[25] = {1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};
KERNEL gauss_constant(const float *in, float *out, int w, int h) { int x = COL, y = ROW; if (x >= w || y >= h) return; float s = 0; for (int j = -2; j <= 2; ++j) for (int i = -2; i <= 2; ++i) { int u = x + i, v = y + j; if (u >= 0 && v >= 0 && u < w && v < h) s += in[v * w + u] * gauss[(j + 2) * 5 + i + 2]; } out[y * w + x] = s / 256; }
KERNEL blur_columns(const float *in, float *out, int w, int h, int r) { int x = COL, y = ROW; if (x >= w || y >= h) return; float s = 0; for (int k = -r; k <= r; ++k) s += in[min(max(y + k, 0), h - 1) * w + x]; out[y * w + x] = s / (2 * r + 1); }
struct Pixel { unsigned char r, g, b; };
KERNEL grey_struct(const Pixel *in, unsigned char *out, int w, int h) { int x = COL, y = ROW; if (x < w && y < h) { Pixel p = in[y * w + x]; out[y * w + x] = 0.299f * p.r + 0.587f * p.g + 0.114f * p.b; } }
KERNEL flip_rows(const float *in, float *out, int w, int h) { int x = COL, y = ROW; if (x < w && y < h) out[(h - 1 - y) * w + x] = in[y * w + x]; }
KERNEL rotate_right(const float *in, float *out, int w, int h) { int x = COL, y = ROW; if (x < w && y < h) out[x * h + h - 1 - y] = in[y * w + x]; }
KERNEL resize_linear(const float *in, float *out, int w, int h, float scale) { int x = COL, y = ROW; if (x >= w || y >= h) return; float u = x * scale, v = y * scale; int i = u, j = v, wide = w * scale; float a = u - i, b = v - j; out[y * w + x] = (1 - b) * ((1 - a) * in[j * wide + i] + a * in[j * wide + i + 1]) + b * ((1 - a) * in[(j + 1) * wide + i] + a * in[(j + 1) * wide + i + 1]); }
KERNEL fir(const float *in, const float *h, float *out, int n, int taps) { int i = I; if (i < n) { float s = 0; for (int k = 0; k < taps; ++k) s += in[i + k] * h[k]; out[i] = s; } }
KERNEL fir_shared(const float *in, const float *h, float *out, int n, int taps) { extern __shared__ float s[]; for (int k = threadIdx.x; k < blockDim.x + taps; k += blockDim.x) s[k] = in[blockIdx.x * blockDim.x + k]; float *w = s + blockDim.x + taps; for (int k = threadIdx.x; k < taps; k += blockDim.x) w[k] = h[k]; __syncthreads(); float v = 0; for (int k = 0; k < taps; ++k) v += s[threadIdx.x + k] * w[k]; out[I] = v; }

// -- particles, signals --------------------------------------------------------------------------------------------
KERNEL forces_tiled(const float *x, const float *y, const float *z, float *ax, float *ay, float *az, int n) {
    __shared__ float sx[128], sy[128], sz[128]; int i = I; float px = x[i], py = y[i], pz = z[i], fx = 0, fy = 0, fz = 0;
    for (int m = 0; m < n; m += 128) { sx[threadIdx.x] = x[m + threadIdx.x]; sy[threadIdx.x] = y[m + threadIdx.x]; sz[threadIdx.x] = z[m + threadIdx.x]; __syncthreads();
        for (int k = 0; k < 128; ++k) { float dx = sx[k] - px, dy = sy[k] - py, dz = sz[k] - pz, r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), w = r * r * r; fx += dx * w; fy += dy * w; fz += dz * w; } __syncthreads(); }
    ax[i] = fx; ay[i] = fy; az[i] = fz;
}
KERNEL move_float3(float3 *p, const float3 *v, float dt, int n) { int i = I; if (i < n) { p[i].x += v[i].x * dt; p[i].y += v[i].y * dt; p[i].z += v[i].z * dt; } }
KERNEL butterfly(float2 *z, int n, int half) { int i = I; if (i >= n / 2) return; int at = i / half * 2 * half + i % half; float angle = -3.14159265f * (i % half) / half, c, s; __sincosf(angle, &s, &c); float2 a = z[at], b = z[at + half], t = make_float2(b.x * c - b.y * s, b.x * s + b.y * c); z[at] = make_float2(a.x + t.x, a.y + t.y); z[at + half] = make_float2(a.x - t.x, a.y - t.y); }
KERNEL sort_step(float *a, int n, int j, int k) { int i = I, other = i ^ j; if (i < n && other > i) { float x = a[i], y = a[other]; bool up = (i & k) == 0; a[i] = up ? fminf(x, y) : fmaxf(x, y); a[other] = up ? fmaxf(x, y) : fminf(x, y); } }
