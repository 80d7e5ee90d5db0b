// Matrices and images of 48 × 48, blocks of 16 × 16 where nothing else is said.

//// tiled_transpose
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}

//// tiled_product
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int a[16][16], b[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, sum = 0;
    for (int k = 0; k < n; k += 16) {
        a[threadIdx.y][threadIdx.x] = in[y * n + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = in[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    out[y * n + x] = sum;
}

//// product_of_coarsened_threads
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int a[16][16], b[16][48];
    int tx = threadIdx.x, ty = threadIdx.y, y = blockIdx.y * 16 + ty, sum[3] = {0, 0, 0};
    for (int k = 0; k < n; k += 16) {
        a[ty][tx] = in[y * n + k + tx];
        for (int c = 0; c < 3; ++c) b[ty][c * 16 + tx] = in[(k + ty) * n + c * 16 + tx];
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            for (int c = 0; c < 3; ++c) sum[c] += a[ty][i] * b[i][c * 16 + tx];
        __syncthreads();
    }
    if (blockIdx.x == 0)
        for (int c = 0; c < 3; ++c) out[y * n + c * 16 + tx] = sum[c];
}

//// product_with_two_buffers
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int a[2][16][16], b[2][16][16];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty, sum = 0, now = 0;
    a[0][ty][tx] = in[y * n + tx];
    b[0][ty][tx] = in[ty * n + x];
    __syncthreads();
    for (int k = 0; k < n; k += 16) {
        if (k + 16 < n) {
            a[1 - now][ty][tx] = in[y * n + k + 16 + tx];
            b[1 - now][ty][tx] = in[(k + 16 + ty) * n + x];
        }
        for (int i = 0; i < 16; ++i) sum += a[now][ty][i] * b[now][i][tx];
        __syncthreads();
        now = 1 - now;
    }
    out[y * n + x] = sum;
}

//// convolution_with_halo
__constant__ int weights[25] = {1, 2, 3, 2, 1, 2, 4, 6, 4, 2, 3, 6, 9, 6, 3, 2, 4, 6, 4, 2, 1, 2, 3, 2, 1};
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int tile[20][20];
    for (int j = threadIdx.y; j < 20; j += 16)
        for (int i = threadIdx.x; i < 20; i += 16) {
            int x = (int)blockIdx.x * 16 + i - 2, y = (int)blockIdx.y * 16 + j - 2;
            tile[j][i] = x >= 0 && x < n && y >= 0 && y < n ? in[y * n + x] : 0;
        }
    __syncthreads();
    int sum = 0;
    for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) sum += weights[j * 5 + i] * tile[threadIdx.y + j][threadIdx.x + i];
    out[(blockIdx.y * 16 + threadIdx.y) * n + blockIdx.x * 16 + threadIdx.x] = sum;
}

//// five_points
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int tile[18][18];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    tile[ty][tx] = in[y * n + x];
    if (threadIdx.x == 0) tile[ty][0] = x > 0 ? in[y * n + x - 1] : 0;
    if (threadIdx.x == 15) tile[ty][17] = x + 1 < n ? in[y * n + x + 1] : 0;
    if (threadIdx.y == 0) tile[0][tx] = y > 0 ? in[(y - 1) * n + x] : 0;
    if (threadIdx.y == 15) tile[17][tx] = y + 1 < n ? in[(y + 1) * n + x] : 0;
    __syncthreads();
    out[y * n + x] = tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1] - 4 * tile[ty][tx];
}

//// median_of_nine
extern "C" __global__ void k(const int* in, int* out, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    int window[9], count = 0;
    for (int j = -1; j <= 1; ++j)
        for (int i = -1; i <= 1; ++i) {
            int u = min(max(x + i, 0), n - 1), v = min(max(y + j, 0), n - 1);
            window[count++] = in[v * n + u];
        }
    for (int i = 0; i < 5; ++i)
        for (int j = i + 1; j < 9; ++j)
            if (window[j] < window[i]) { int swapped = window[i]; window[i] = window[j]; window[j] = swapped; }
    out[y * n + x] = window[4];
}

//// row_sums_of_blocks [block 48 1]
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int s[48];
    int t = threadIdx.x, y = blockIdx.y * gridDim.x + blockIdx.x;
    if (y >= n) return;
    s[t] = in[y * n + t];
    __syncthreads();
    for (int live = 48; live > 1; live = (live + 1) / 2) {
        int half = (live + 1) / 2;
        if (t + half < live) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) out[y] = s[0];
}

//// steps_of_heat_in_one_block [grid 1 1]
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int now[18][18], next[18][18];
    int x = threadIdx.x + 1, y = threadIdx.y + 1, t = threadIdx.y * 16 + threadIdx.x;
    for (int i = t; i < 18 * 18; i += 256) now[i / 18][i % 18] = next[i / 18][i % 18] = 0;
    __syncthreads();
    now[y][x] = in[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    for (int step = 0; step < 5; ++step) {
        next[y][x] = (now[y - 1][x] + now[y + 1][x] + now[y][x - 1] + now[y][x + 1]) / 4;
        __syncthreads();
        now[y][x] = next[y][x];
        __syncthreads();
    }
    out[threadIdx.y * n + threadIdx.x] = now[y][x];
}

//// gauss_elimination_steps [grid 1 1]
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ float a[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    a[y][x] = (float)in[y * n + x] + (x == y ? 4096.0f : 0.0f);
    __syncthreads();
    for (int p = 0; p < 15; ++p) {
        float factor = a[y][p] / a[p][p];
        __syncthreads();
        if (y > p && x >= p) a[y][x] -= factor * a[p][x];
        __syncthreads();
    }
    out[y * n + x] = x < y ? a[y][x] == 0.0f || fabsf(a[y][x]) < 1.0f : 1;
}

//// floyd_warshall_block [grid 1 1]
extern "C" __global__ void k(const int* in, int* out, int n) {
    __shared__ int d[16][16];
    int x = threadIdx.x, y = threadIdx.y;
    d[y][x] = in[y * n + x];
    __syncthreads();
    for (int p = 0; p < 16; ++p) {
        int through = d[y][p] + d[p][x];
        __syncthreads(); /* unused */
        if (through < d[y][x]) d[y][x] = through;
        __syncthreads();
    }
    out[y * n + x] = d[y][x];
}

//// game_of_life
extern "C" __global__ void k(const int* in, int* out, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, alive = 0;
    for (int j = -1; j <= 1; ++j)
        for (int i = -1; i <= 1; ++i)
            if (i || j) alive += in[(y + j + n) % n * n + (x + i + n) % n] & 1;
    out[y * n + x] = alive == 3 || (alive == 2 && (in[y * n + x] & 1));
}
