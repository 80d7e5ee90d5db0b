// All numbers are mapped to whole ones that have the same order; one atomic operation for each warp.
__device__ unsigned highest;

__global__ void begin() {
    highest = 0;
}

__global__ void search(const float *in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned bits = i < n ? __float_as_uint(in[i]) : 0xffffffffu;
    unsigned key = bits >> 31 ? ~bits : bits | 0x80000000u;
    key = __reduce_max_sync(0xffffffff, key);
    if (threadIdx.x % 32 == 0) atomicMax(&highest, key);
}

__global__ void store(float *out) {
    *out = __uint_as_float(highest >> 31 ? highest & 0x7fffffff : ~highest);
}

void solve(const float *in, float *out, int n) {
    begin<<<1, 1>>>();
    search<<<(n + 127) / 128, 128>>>(in, n);
    store<<<1, 1>>>(out);
}
