// Clocks and printing.
extern "C" __global__ void clocks(int* out, int n) {
    int i = threadIdx.x;
    long long start = clock64();
    int early = clock();
    int sum = 0;
    for (int k = 0; k < n; ++k) sum += k ^ i;
    long long end = clock64();
    out[i] = sum;
    out[n + i] = end > start && (int)clock() - early > 0;
}

extern "C" __global__ void wait(int* out, int cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) {}
    *out = 1;
}

extern "C" __global__ void prints(int* out) {
    int i = threadIdx.x;
    if (i == 3) out[0] = printf("thread %d of %u: %5.2f|%-6d|%+d|%x|%c|%s|%%|%lld|%e\n", i, blockDim.x, 1.5 * i, i, i, 255 + i, 'a' + i,
                       "text", 1LL << 40, 12345.678);
    if (i == 5) printf("no arguments\n");
}
