// Atomic operations on global and shared memory. Results do not depend on the order of the threads.
extern "C" __global__ void atomics32(const int* a, int* out, unsigned* uout, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i];
    atomicAdd(&out[0], x);
    atomicSub(&out[1], x);
    atomicMin(&out[2], x);
    atomicMax(&out[3], x);
    atomicAnd(&out[4], x);
    atomicOr(&out[5], x);
    atomicXor(&out[6], x);
    atomicAdd(&out[7 + (x & 7)], 1);
    atomicMin(&uout[0], (unsigned)x);
    atomicMax(&uout[1], (unsigned)x);
    atomicInc(&uout[2], 99u);
    atomicDec(&uout[3], 49u);
    atomicAdd_system(&out[15], 2);
    // Of block scope: a place for each block.
    atomicAdd_block(&out[16 + blockIdx.x], 1);
}

extern "C" __global__ void atomics64(const long long* a, unsigned long long* out, long long* sout, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long x = a[i];
    atomicAdd(&out[0], (unsigned long long)x);
    atomicMin(&out[1], (unsigned long long)x);
    atomicMax(&out[2], (unsigned long long)x);
    atomicAnd(&out[3], (unsigned long long)x);
    atomicOr(&out[4], (unsigned long long)x);
    atomicXor(&out[5], (unsigned long long)x);
    atomicMin(&sout[0], x);
    atomicMax(&sout[1], x);
}

// Small integers: their sums are exact in any order.
extern "C" __global__ void atomics_float(const float* a, float* out, double* wide, int n) {
    __shared__ float part[4];
    __shared__ double dpart[2];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 4) part[threadIdx.x] = 0.0f;
    if (threadIdx.x < 2) dpart[threadIdx.x] = 0.0;
    __syncthreads();
    if (i < n) {
        atomicAdd(&part[i & 3], a[i]);
        atomicAdd(&dpart[i & 1], (double)a[i]);
        atomicAdd(&out[4 + (i & 1)], a[i]);
    }
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&out[threadIdx.x], part[threadIdx.x]);
    if (threadIdx.x < 2) atomicAdd(&wide[threadIdx.x], dpart[threadIdx.x]);
}

extern "C" __global__ void shared_atomics(const int* a, int* out, int n) {
    __shared__ int s[8];
    __shared__ unsigned long long w[2];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 8) s[t] = t == 2 ? 0x7fffffff : t == 3 ? (int)0x80000000 : t == 4 ? -1 : 0;
    if (t < 2) w[t] = 5;
    __syncthreads();
    if (i < n) {
        int x = a[i];
        atomicAdd(&s[0], x);
        atomicSub(&s[1], x);
        atomicMin(&s[2], x);
        atomicMax(&s[3], x);
        atomicAnd(&s[4], x);
        atomicOr(&s[5], x);
        atomicXor(&s[6], x);
        atomicInc((unsigned*)&s[7], 1000u);
        atomicAdd(&w[0], (unsigned long long)x);
        atomicMax(&w[1], (unsigned long long)x);
    }
    __syncthreads();
    if (t < 8) out[blockIdx.x * 10 + t] = s[t];
    if (t < 2) out[blockIdx.x * 10 + 8 + t] = (int)w[t] ^ (int)(w[t] >> 32);
}

// Every thread gets a ticket of its own.
extern "C" __global__ void tickets(int* next, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[atomicAdd(next, 1)] = 1;
}

extern "C" __global__ void cas_loops(const float* a, float* largest, unsigned* claimed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int* bits = (int*)largest;
    int old = *(volatile int*)bits;
    while (__int_as_float(old) < a[i]) {
        int seen = atomicCAS(bits, old, __float_as_int(a[i]));
        if (seen == old) break;
        old = seen;
    }
    if (atomicCAS(&claimed[i / 4], 0u, 1u) == 0u) atomicAdd(&claimed[n / 4], 1u);
}

extern "C" __global__ void exchanges(int* slots, long long* wide, int* out, int n) {
    int i = threadIdx.x;
    int got = atomicExch(&slots[i], i * 10);
    long long other = (long long)atomicExch((unsigned long long*)&wide[i], (unsigned long long)(i * 7));
    if (i < n) out[i] = got + (int)other;
}

extern "C" __global__ void histogram(const unsigned char* a, unsigned* bins, int n) {
    __shared__ unsigned mine[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[a[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (mine[b]) atomicAdd(&bins[b], mine[b]);
}

// A lock that lanes of one warp compete for.
extern "C" __global__ void spin_lock(int* lock, volatile int* counter, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool done = i >= n;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *counter = *counter + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// The last block to finish adds up what all blocks left behind.
__device__ unsigned finished = 0;
extern "C" __global__ void last_block(const int* a, volatile int* partial, int* out, int n) {
    __shared__ int sum;
    __shared__ bool last;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if (i < n) atomicAdd(&sum, a[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int total = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b];
        *out = total;
    }
}

// Two and four numbers at a time, which newer devices have. Small integers: their sums are exact in any order.
extern "C" __global__ void vector_atomics(const float* a, float* out, float* before, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], low, high;
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(out), "f"(x), "f"(1.0f), "f"(-x), "f"(2.0f) : "memory");
    asm volatile("atom.global.add.v2.f32 {%0, %1}, [%2], {%3, %4};"
                 : "=f"(low), "=f"(high) : "l"(before + 2 * i), "f"(x), "f"(x * 2) : "memory");
    asm volatile("atom.global.add.v2.f32 {%0, %1}, [%2], {%0, %1};"
                 : "+f"(low), "+f"(high) : "l"(before + 2 * i) : "memory");
    before[2 * i] += low;
}
