// Loops that another thread ends, and loops that look like it.
extern "C" __global__ void lock_first(int* lock, int* out) {
    while (atomicCAS(lock, 0, 1) != 0)
        ;
    *out += 1;
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void lock_inside(int* lock, int* out) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *out += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

extern "C" __global__ void wait_for_flag(volatile int* flag, int* out) {
    while (*flag == 0)
        ;
    *out = 1;
}

extern "C" __global__ void histogram(const int* in, int* bins, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&bins[in[i]], 1);
}

extern "C" __global__ void positions(const int* in, int* next, int* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[atomicAdd(next, 1)] = in[i];
}

__device__ __noinline__ bool acquire(int* lock) { return atomicCAS(lock, 0, 1) == 0; }
__device__ __noinline__ int root(int n) { return n / 3 + 1; }

extern "C" __global__ void lock_in_function(int* lock, int* out) {
    while (!acquire(lock))
        ;
    *out += 1;
    atomicExch(lock, 0);
}

extern "C" __global__ void pure_function(int* out, int n) {
    while (n > 5)
        n = root(n);
    *out = n;
}
