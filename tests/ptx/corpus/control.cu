// Control flow: threads that part and meet again.
extern "C" __global__ void collatz(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i];
    int steps = 0;
    while (x > 1) {
        if (x & 1) x = 3 * x + 1;
        else x >>= 1;
        if (++steps == 1000) break;
    }
    out[i] = steps;
}

extern "C" __global__ void dense_switch(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], r;
    switch (x & 15) {
        case 0: r = x * 3; break;
        case 1: r = x - 7; break;
        case 2: r = x ^ 0x55; break;
        case 3: r = x << 2;  // falls through
        case 4: r = x / 3; break;
        case 5: r = ~x; break;
        case 6: r = a[(i + 1) % n]; break;
        case 7: r = x % 11; break;
        case 8: r = x & 0xf0; break;
        case 9: return;
        default: r = -1;
    }
    out[i] = r;
}

extern "C" __global__ void breaks(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int found = -1, skipped = 0;
    for (int k = 0; k < n; ++k) {
        int x = a[(i + k) % n];
        if (x % 3 == 0) { ++skipped; continue; }
        if (x % 7 == 0) { found = k; break; }
        if (x == 1000003) { out[i] = -5; return; }
        for (int j = 0; j < x % 4; ++j) skipped += j;
    }
    if (i < n) out[i] = found * 100 + skipped;
}

extern "C" __global__ void binary_search(const int* sorted, const int* keys, int* out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < keys[i]) low = middle + 1;
        else high = middle;
    }
    out[i] = low;
}

extern "C" __global__ void gcd(const int* a, const int* b, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], y = b[i];
    do {
        int r = y ? x % y : 0;
        if (!y) break;
        x = y;
        y = r;
    } while (true);
    out[i] = x;
}

extern "C" __global__ void gotos(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], rounds = 0;
again:
    if (x > 100) { x = x / 2 - 1; ++rounds; goto again; }
    if (x & 1) { x += 5; ++rounds; if (rounds < 9) goto again; }
    out[i] = x * 16 + rounds;
}

extern "C" __global__ void short_circuit(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && i > 0 && (a[i] > a[i - 1] || (a[i] % 2 == 0 && a[i - 1] % 3 == 0)) && !(a[i] == 5)) out[i] = 1;
    else if (i < n) out[i] = a[i] < 50 ? (a[i] < 20 ? 2 : 3) : 4;
}

extern "C" __global__ void triangular(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int k = 0; k <= i && k < n; ++k)
        for (int j = k; j > 0; j >>= 1) sum += a[j % n] ^ k;
    if (i < n) out[i] = sum;
}

extern "C" __global__ void grid_stride(const int* a, int* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = a[i] * 2 + 1;
}

extern "C" __global__ void guarded_asm(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], r = -1;
    asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 50; @p mov.s32 %0, 1; @!p add.s32 %0, %1, 100; }" : "+r"(r) : "r"(x));
    asm volatile("{ .reg .pred p, q; setp.lt.s32 p|q, %1, 30; @p st.global.u32 [%0], 7; @q st.global.u32 [%0], 9; }"
                 :: "l"(out + n + i), "r"(x) : "memory");
    out[i] = r;
}
