// Blocks that work together through shared memory and barriers.
extern "C" __global__ void barrier_votes(const int* a, int* out, int n) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int x = i < n ? a[i] : 0;
    int count = __syncthreads_count(x > 50);
    int every = __syncthreads_and(x < 99);
    int any = __syncthreads_or(x == 77);
    if (i < n) out[i] = count * 4 + (every != 0) * 2 + (any != 0);
}

extern "C" __global__ void tree_sum(const float* a, float* out, int n) {
    extern __shared__ float sums[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? a[i] : 0.0f;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d >>= 1) {
        if (t < d) sums[t] += sums[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sums[0];
}

extern "C" __global__ void interleaved_sum(const int* a, int* out, int n) {
    __shared__ int sums[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    sums[t] = i < n ? a[i] : 0;
    for (int d = 1; d < blockDim.x; d *= 2) {
        __syncthreads();
        if (t % (2 * d) == 0) sums[t] += sums[t + d];
    }
    if (t == 0) atomicAdd(out, sums[0]);
}

extern "C" __global__ void inclusive_scan(const int* a, int* out, int n) {
    __shared__ int s[2][256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, from = 0;
    s[0][t] = i < n ? a[i] : 0;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        s[1 - from][t] = s[from][t] + (t >= d ? s[from][t - d] : 0);
        from = 1 - from;
        __syncthreads();
    }
    if (i < n) out[i] = s[from][t];
}

extern "C" __global__ void exclusive_scan(const int* a, int* out, int n) {
    __shared__ int s[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    s[2 * t] = a[base + 2 * t];
    s[2 * t + 1] = a[base + 2 * t + 1];
    int offset = 1;
    for (int d = 128; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) s[255] = 0;
    for (int d = 1; d < 256; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1, kept = s[left];
            s[left] = s[right];
            s[right] += kept;
        }
    }
    __syncthreads();
    out[base + 2 * t] = s[2 * t];
    out[base + 2 * t + 1] = s[2 * t + 1];
}

extern "C" __global__ void bitonic_sort(const int* a, int* out, int n) {
    __shared__ int s[512];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? a[i] : 0x7fffffff;
    __syncthreads();
    for (int size = 2; size <= blockDim.x; size *= 2)
        for (int d = size / 2; d > 0; d /= 2) {
            int other = t ^ d;
            if (other > t) {
                bool up = (t & size) == 0;
                if ((s[t] > s[other]) == up) { int kept = s[t]; s[t] = s[other]; s[other] = kept; }
            }
            __syncthreads();
        }
    if (i < n) out[i] = s[t];
}

#define TILE 16
extern "C" __global__ void tiled_product(const float* a, const float* b, float* c, int rows, int inner, int cols) {
    __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (int m = 0; m < inner; m += TILE) {
        left[y][x] = row < rows && m + x < inner ? a[row * inner + m + x] : 0.0f;
        right[y][x] = m + y < inner && col < cols ? b[(m + y) * cols + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum = fmaf(left[y][k], right[k][x], sum);
        __syncthreads();
    }
    if (row < rows && col < cols) c[row * cols + col] = sum;
}

extern "C" __global__ void transpose_rows(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += blockDim.y)
        if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += blockDim.y)
        if (x < rows && y + j < cols) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

#define RADIUS 3
extern "C" __global__ void stencil(const float* in, float* out, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x + RADIUS, i = blockIdx.x * blockDim.x + threadIdx.x;
    s[t] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        s[t - RADIUS] = i >= RADIUS && i - RADIUS < n ? in[i - RADIUS] : 0.0f;
        int right = i + blockDim.x;
        s[t + blockDim.x] = right < n ? in[right] : 0.0f;
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; ++k) sum += s[t + k];
    out[i] = sum;
}

extern "C" __global__ void box_filter(const unsigned char* in, unsigned char* out, int width, int height) {
    __shared__ unsigned char tile[18][18];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    for (int r = threadIdx.y; r < 18; r += 16)
        for (int c = threadIdx.x; c < 18; c += 16) {
            int gx = min(max((int)blockIdx.x * 16 + c - 1, 0), width - 1);
            int gy = min(max((int)blockIdx.y * 16 + r - 1, 0), height - 1);
            tile[r][c] = in[gy * width + gx];
        }
    __syncthreads();
    if (x >= width || y >= height) return;
    int sum = 0;
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) sum += tile[threadIdx.y + r][threadIdx.x + c];
    out[y * width + x] = sum / 9;
}

// Two arrays in one piece of dynamic shared memory.
extern "C" __global__ void carved(const float* a, double* out, int n) {
    extern __shared__ __align__(8) unsigned char raw[];
    double* wide = (double*)raw;
    short* narrow = (short*)(wide + blockDim.x);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    wide[t] = a[i] * 0.5;
    narrow[t] = (short)(t * 3);
    __syncthreads();
    out[i] = wide[blockDim.x - 1 - t] + narrow[(t + 1) % blockDim.x];
}

// Threads of the last, partial block leave before the barrier: legal since compute capability 7.0.
extern "C" __global__ void leave_early(const int* a, int* out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i >= n) return;
    s[t] = a[i];
    __syncthreads();
    int count = min((int)blockDim.x, n - (int)(blockIdx.x * blockDim.x));
    out[i] = s[count - 1 - t];
}

// Named barriers: one half of the block hands over to the other.
extern "C" __global__ void named_barriers(const int* a, int* out, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 64) {
        s[t] = a[t] * 2;
        __threadfence_block();
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        out[t - 64] = s[127 - t] + 1;
    }
}

extern "C" __global__ void game_of_life(const unsigned char* in, unsigned char* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int alive = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx || dy) alive += in[(y + dy + height) % height * width + (x + dx + width) % width];
    out[y * width + x] = alive == 3 || (alive == 2 && in[y * width + x]);
}
