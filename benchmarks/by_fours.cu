// Kernels for by_fours.py: what courses and benchmark programs launch for long.

template <int T>
__device__ void tiled(float* c, const float* a, const float* b, int n) {
  __shared__ float s[T][T], t[T][T];
  int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
  float sum = 0;
  for (int m = 0; m < n / T; m++) {
    s[threadIdx.y][threadIdx.x] = a[y * n + m * T + threadIdx.x];
    t[threadIdx.y][threadIdx.x] = b[(m * T + threadIdx.y) * n + x];
    __syncthreads();
    for (int k = 0; k < T; k++) sum += s[threadIdx.y][k] * t[k][threadIdx.x];
    __syncthreads();
  }
  c[y * n + x] = sum;
}
extern "C" __global__ void tiled16(float* c, const float* a, const float* b, int n) { tiled<16>(c, a, b, n); }
extern "C" __global__ void tiled32(float* c, const float* a, const float* b, int n) { tiled<32>(c, a, b, n); }

extern "C" __global__ void sgemm(float* c, const float* a, const float* b, int n) {
  __shared__ float s[64][8], t[8][64];
  int col = threadIdx.x % 8, row = threadIdx.x / 8;
  float sums[8][8] = {}, down[8], across[8];
  for (int m = 0; m < n; m += 8) {
    for (int k = 0; k < 64; k += 8) s[row + k][col] = a[(blockIdx.y * 64 + row + k) * n + m + col];
    for (int k = 0; k < 8; k++) t[k][threadIdx.x] = b[(m + k) * n + blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    for (int d = 0; d < 8; d++) {
      for (int k = 0; k < 8; k++) down[k] = s[row * 8 + k][d], across[k] = t[d][col * 8 + k];
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) sums[i][j] += down[i] * across[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) c[(blockIdx.y * 64 + row * 8 + i) * n + blockIdx.x * 64 + col * 8 + j] = sums[i][j];
}

extern "C" __global__ void sum_by_strides(float* out, const float* in, int n) {
  __shared__ float s[256];
  int t = threadIdx.x;
  float v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += in[i];
  s[t] = v;
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void tree_sum(float* out, const float* in, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void shuffled_sum(float* out, const float* in, int n) {
  __shared__ float s[8];
  int t = threadIdx.x;
  float v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += in[i];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t == 0) {
    for (int k = 1; k < 8; k++) v += s[k];
    out[blockIdx.x] = v;
  }
}

template <typename Number>
__device__ void heat(Number* out, const Number* in, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
    out[y * n + x] = Number(0.25) * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}
extern "C" __global__ void stencil(float* out, const float* in, int n) { heat(out, in, n); }
extern "C" __global__ void stencil_f64(double* out, const double* in, int n) { heat(out, in, n); }

extern "C" __global__ void n_body(float4* out, const float4* in, int n) {
  __shared__ float4 s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 me = in[i];
  float ax = 0, ay = 0, az = 0;
  for (int b = 0; b < n; b += 256) {
    s[threadIdx.x] = in[b + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 256; j++) {
      float dx = s[j].x - me.x, dy = s[j].y - me.y, dz = s[j].z - me.z;
      float q = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-9f), w = s[j].w * q * q * q;
      ax += dx * w, ay += dy * w, az += dz * w;
    }
    __syncthreads();
  }
  out[i] = make_float4(ax, ay, az, 0);
}

extern "C" __global__ void transposed(float* out, const float* in, int n) {
  __shared__ float s[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) out[(y + j) * n + x] = s[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void mandelbrot(float* out, const float* in, int n) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, i = 0;
  float cx = -2 + 3.f * x / n, cy = -1.5f + 3.f * y / n, a = 0, b = 0;
  while (i < 200 && a * a + b * b < 4) {
    float t = a * a - b * b + cx;
    b = 2 * a * b + cy, a = t, i++;
  }
  out[y * n + x] = i;
}

extern "C" __global__ void histogram(int* out, const int* in, int n) {
  __shared__ int h[256];
  h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&h[in[i] & 255], 1);
  __syncthreads();
  atomicAdd(out + threadIdx.x, h[threadIdx.x]);
}

struct Ray {
  float x, y, dx, dy;
};

__device__ __noinline__ Ray bent(Ray r, float strength) {
  float d = rsqrtf(r.x * r.x + r.y * r.y + 1.f) * strength;
  r.dx -= r.x * d, r.dy -= r.y * d;
  r.x += r.dx * 0.01f, r.y += r.dy * 0.01f;
  return r;
}

extern "C" __global__ void called(float* out, const float* in, int n) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  Ray r = {3.f * x / n - 1.5f, 3.f * y / n - 1.5f, 0.3f, in[y * n + x] * 1e-3f};
  for (int k = 0; k < 100; k++) r = bent(r, k & 1 ? 0.1f : 0.2f);
  out[y * n + x] = r.x + r.y;
}
