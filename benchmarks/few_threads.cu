// One thread that does everything, and register-tiled products whose blocks have few threads that do much.

extern "C" __global__ void serial_transpose(const float *in, float *out, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) out[j * n + i] = in[i * n + j];
}

extern "C" __global__ void serial_product(const float *a, const float *b, float *c, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

// 64 x 64 tiles by 512 threads, 8 sums of a column each.
extern "C" __global__ void column_tiles(const float *a, const float *b, float *c, int n) {
    __shared__ float s[64 * 8], u[8 * 64];
    int row = blockIdx.y * 64, column = blockIdx.x * 64, t = threadIdx.x;
    float sums[8] = {0};
    for (int k0 = 0; k0 < n; k0 += 8) {
        s[t] = a[(row + t / 8) * n + k0 + t % 8];
        u[t] = b[(k0 + t / 64) * n + column + t % 64];
        __syncthreads();
        for (int k = 0; k < 8; k++) {
            float value = u[k * 64 + t % 64];
            for (int i = 0; i < 8; i++) sums[i] += s[(t / 64 * 8 + i) * 8 + k] * value;
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++) c[(row + t / 64 * 8 + i) * n + column + t % 64] = sums[i];
}

// 64 x 64 tiles by 64 threads, 8 x 8 sums each.
extern "C" __global__ void square_tiles(const float *a, const float *b, float *c, int n) {
    __shared__ float s[64 * 8], u[8 * 64];
    int row = blockIdx.y * 64, column = blockIdx.x * 64, t = threadIdx.x;
    int y = t / 8, x = t % 8;
    float sums[8][8] = {0}, left[8], right[8];
    for (int k0 = 0; k0 < n; k0 += 8) {
        for (int i = t; i < 512; i += 64) s[i] = a[(row + i / 8) * n + k0 + i % 8];
        for (int i = t; i < 512; i += 64) u[i] = b[(k0 + i / 64) * n + column + i % 64];
        __syncthreads();
        for (int k = 0; k < 8; k++) {
            for (int i = 0; i < 8; i++) left[i] = s[(y * 8 + i) * 8 + k];
            for (int j = 0; j < 8; j++) right[j] = u[k * 64 + x * 8 + j];
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) sums[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) c[(row + y * 8 + i) * n + column + x * 8 + j] = sums[i][j];
}
