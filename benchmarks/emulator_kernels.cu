// What benchmarks/emulator.py runs: regular kernels, and kernels whose threads part.
#define T 16

extern "C" __global__ void naive_transpose(const float* in, float* out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) out[x * n + y] = in[y * n + x];
}

extern "C" __global__ void tiled_transpose(const float* in, float* out, int n) {
    __shared__ float tile[T][T + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    tile[ty][tx] = in[(blockIdx.y * T + ty) * n + blockIdx.x * T + tx];
    __syncthreads();
    out[(blockIdx.x * T + ty) * n + blockIdx.y * T + tx] = tile[tx][ty];
}

extern "C" __global__ void naive_matmul(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

extern "C" __global__ void in_memory_matmul(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    c[y * n + x] = 0.0f;
    for (int k = 0; k < n; ++k) c[y * n + x] += a[y * n + k] * b[k * n + x];
}

extern "C" __global__ void tiled_matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float left[T][T], right[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx, y = blockIdx.y * T + ty;
    float sum = 0.0f;
    for (int m = 0; m < n; m += T) {
        left[ty][tx] = a[y * n + m + tx];
        right[ty][tx] = b[(m + ty) * n + x];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

extern "C" __global__ void interleaved_sum(const float* in, float* out, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        if (t % (2 * d) == 0) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void halving_sum(const float* in, float* out, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void histogram(const int* in, int* bins, int n) {
    __shared__ int mine[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[in[i] & 255], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) atomicAdd(&bins[b], mine[b]);
}

extern "C" __global__ void guarded_matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float left[T][T], right[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * T + tx, y = blockIdx.y * T + ty;
    float sum = 0.0f;
    for (int m = 0; m < n; m += T) {
        left[ty][tx] = y < n && m + tx < n ? a[y * n + m + tx] : 0.0f;
        right[ty][tx] = m + ty < n && x < n ? b[(m + ty) * n + x] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += left[ty][k] * right[k][tx];
        __syncthreads();
    }
    if (x < n && y < n) c[y * n + x] = sum;
}

extern "C" __global__ void collatz(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = in[i] + 1;
    int steps = 0;
    for (; x != 1; ++steps) x = x & 1 ? 3 * x + 1 : x / 2;
    out[i] = steps;
}
