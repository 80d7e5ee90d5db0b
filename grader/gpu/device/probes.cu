// What `grade calibrate --device` measures a GPU by: cycles of dependent and of independent instructions, of pointers
// followed through memory, and launches that are timed as a whole.
typedef unsigned long long u64;

// Steps of a dependent chain in one warp: 64 at a time, so that the loop's own instructions hide beneath.  Lanes differ:
// what is the same in all of them the compiler keeps out of the way.
#define CHAIN(NAME, TYPE, HOLDS, STEP)                                                                                 \
    extern "C" __global__ void NAME(u64 *out, int a, int b, unsigned rounds)                                           \
    {                                                                                                                  \
        TYPE value = (TYPE)(a + (int)threadIdx.x), with = (TYPE)b, other = (TYPE)(a + b);                              \
        u64 cycles = 0;                                                                                                \
        for (int again = 0; again < 2; again++) {                                                                      \
            const u64 begin = clock64();                                                                               \
            for (unsigned round = 0; round < rounds; round++) {                                                        \
                _Pragma("unroll") for (int step = 0; step < 64; step++)                                                \
                    asm volatile(STEP : "+" HOLDS(value) : HOLDS(with), HOLDS(other));                                 \
            }                                                                                                          \
            cycles = clock64() - begin;                                                                                \
        }                                                                                                              \
        if (threadIdx.x == 0)                                                                                          \
            out[0] = cycles;                                                                                           \
        if (value == (TYPE)-77)                                                                                        \
            out[0] = 0;                                                                                                \
    }

#define INT "r"
#define FLOAT "f"
#define DOUBLE "d"
CHAIN(chain_alu, int, INT, "prmt.b32 %0, %0, %1, %2;")
CHAIN(chain_imad, int, INT, "mad.lo.s32 %0, %0, %1, %2;")
CHAIN(chain_fma, float, FLOAT, "fma.rn.f32 %0, %0, %1, %2;")
CHAIN(chain_double, double, DOUBLE, "fma.rn.f64 %0, %0, %1, %2;")
CHAIN(chain_special, float, FLOAT, "ex2.approx.ftz.f32 %0, %0;")
CHAIN(chain_convert, float, FLOAT, "{ .reg .s32 i; cvt.rzi.s32.f32 i, %0; cvt.rn.f32.s32 %0, i; }")
CHAIN(chain_shuffle, int, INT, "shfl.sync.bfly.b32 %0, %0, %2, 31, -1;")
CHAIN(chain_divide, float, FLOAT, "div.rn.f32 %0, %1, %0;")
CHAIN(chain_root, float, FLOAT, "sqrt.rn.f32 %0, %0;")
CHAIN(chain_divide_integer, int, INT, "div.u32 %0, %1, %0;")
CHAIN(chain_barrier, int, INT, "bar.sync 0;")

// Eight independent chains a thread: how many warp instructions a multiprocessor begins in a cycle.
#define RATE(NAME, TYPE, HOLDS, STEP)                                                                                  \
    extern "C" __global__ void NAME(u64 *out, int a, int b, unsigned rounds)                                           \
    {                                                                                                                  \
        __shared__ u64 first, last;                                                                                    \
        TYPE value[8], with = (TYPE)b, other = (TYPE)(a + b);                                                          \
        for (int i = 0; i < 8; i++)                                                                                    \
            value[i] = (TYPE)(a + i + (int)threadIdx.x);                                                               \
        for (int again = 0; again < 2; again++) {                                                                      \
            if (threadIdx.x == 0) {                                                                                    \
                first = ~0ull;                                                                                         \
                last = 0;                                                                                              \
            }                                                                                                          \
            __syncthreads();                                                                                           \
            const u64 begin = clock64();                                                                               \
            for (unsigned round = 0; round < rounds; round++) {                                                        \
                _Pragma("unroll") for (int step = 0; step < 16; step++) {                                              \
                    _Pragma("unroll") for (int i = 0; i < 8; i++)                                                      \
                        asm volatile(STEP : "+" HOLDS(value[i]) : HOLDS(with), HOLDS(other));                          \
                }                                                                                                      \
            }                                                                                                          \
            const u64 end = clock64();                                                                                 \
            atomicMin(&first, begin);                                                                                  \
            atomicMax(&last, end);                                                                                     \
            __syncthreads();                                                                                           \
        }                                                                                                              \
        TYPE sum = 0;                                                                                                  \
        for (int i = 0; i < 8; i++)                                                                                    \
            sum += value[i];                                                                                           \
        if (threadIdx.x == 0)                                                                                          \
            out[0] = last - first;                                                                                     \
        if (sum == (TYPE)-77)                                                                                          \
            out[0] = 0;                                                                                                \
    }

RATE(rate_alu, int, INT, "prmt.b32 %0, %0, %1, %2;")
RATE(rate_imad, int, INT, "mad.lo.s32 %0, %0, %1, %2;")
RATE(rate_fma, float, FLOAT, "fma.rn.f32 %0, %0, %1, %2;")
RATE(rate_double, double, DOUBLE, "fma.rn.f64 %0, %0, %1, %2;")
RATE(rate_special, float, FLOAT, "ex2.approx.ftz.f32 %0, %0;")
RATE(rate_shuffle, int, INT, "shfl.sync.bfly.b32 %0, %0, %2, 31, -1;")

// Pointers in shared memory, each of which says where the next one lies.
extern "C" __global__ void chase_shared(u64 *out, unsigned count, unsigned steps)
{
    __shared__ unsigned places[2048];
    const unsigned start = (unsigned)__cvta_generic_to_shared(places);
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
        places[i] = start + 4 * ((i + 33) % count);
    __syncthreads();
    unsigned at = start;
    u64 cycles = 0;
    for (int again = 0; again < 2; again++) {
        const u64 begin = clock64();
#pragma unroll 16
        for (unsigned step = 0; step < steps; step++)
            asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
        cycles = clock64() - begin;
    }
    if (threadIdx.x == 0)
        out[0] = at == 1 ? 0 : cycles;
}

// The same in global memory, a pointer every 128 bytes, in an order of far jumps.  others: words behind them that are
// written before they are followed, so that no cache holds them.  warm: times that all are followed before.
extern "C" __global__ void chase_global(u64 *out, u64 *memory, unsigned count, u64 others, unsigned warm, unsigned steps)
{
    const u64 jump = (u64)(count * 0.618) | 1;
    for (u64 i = threadIdx.x; i < count; i += blockDim.x)
        memory[i * 16] = (u64)&memory[((i + jump) & (count - 1)) * 16];
    for (u64 i = threadIdx.x; i < others; i += blockDim.x)
        memory[(u64)count * 16 + i] = i;
    __threadfence();
    __syncthreads();
    if (threadIdx.x != 0)
        return;
    u64 at = (u64)memory;
    for (u64 step = 0; step < (u64)warm * count; step++)
        asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at)::"memory");
    const u64 begin = clock64();
#pragma unroll 16
    for (unsigned step = 0; step < steps; step++)
        asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at)::"memory");
    out[0] = at == 1 ? 0 : clock64() - begin;
}

// Timed as a whole: memory, the L2 cache, and the starts of blocks.
extern "C" __global__ void copy_wide(const float4 *in, float4 *out, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i];
}

extern "C" __global__ void read_again(const float4 *in, float *out, unsigned count, unsigned times)
{
    float sum = 0;
    const unsigned all = gridDim.x * blockDim.x, own = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned again = 0; again < times; again++) {
#pragma unroll 8
        for (unsigned i = own; i < count; i += all) {
            float4 v;
            asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                         : "l"(in + i));
            sum += v.x + v.y + v.z + v.w;
        }
    }
    out[own] = sum;
}

extern "C" __global__ void nothing() {}

extern "C" __global__ void copy_narrow(const float *in, float *out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
