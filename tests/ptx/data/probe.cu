// Asks everything by which a kernel might tell what runs it: `out` gets FACTS numbers from each thread, blocks of 64.
#define FACTS 40

__device__ int in_global[100];
__device__ unsigned launches;
__constant__ int in_constant[10] = {1, 2, 3};

__device__ __forceinline__ unsigned long long at(const void *p) { return (unsigned long long)p; }

extern "C" __global__ void probe(const float *in, unsigned long long *out, int n)
{
    __shared__ float first[33][32];
    __shared__ double second[64];
    extern __shared__ char dynamic[];
    volatile int local[8];
    for (int i = 0; i < 8; i++)
        local[i] = n + i;
    unsigned u;
    unsigned long long clock_at_start = clock64(), timer_at_start, w;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer_at_start));
    first[threadIdx.x & 31][threadIdx.x & 31] = in[threadIdx.x];
    second[threadIdx.x] = clock_at_start;
    __syncthreads();

    unsigned long long *fact = out + FACTS * (blockIdx.x * blockDim.x + threadIdx.x);
    *fact++ = at(in);
    *fact++ = at(out);
    *fact++ = at(in_global);
    *fact++ = at(in_constant);
    *fact++ = at(first);
    *fact++ = at(second);
    *fact++ = at(dynamic);
    *fact++ = at((const void *)local);
    *fact++ = __cvta_generic_to_shared(first);
    *fact++ = __cvta_generic_to_shared(second);
    *fact++ = __cvta_generic_to_shared(dynamic);
    *fact++ = __cvta_generic_to_local((const void *)local);
    *fact++ = __cvta_generic_to_global(in);
    *fact++ = __isGlobal(in) && __isGlobal(in_global) && !__isGlobal(first) && !__isGlobal((const void *)local);
    *fact++ = __isShared(first) && __isShared(dynamic) && !__isShared(in) && !__isShared((const void *)local);
    *fact++ = __isLocal((const void *)local) && !__isLocal(in) && !__isLocal(second);
#define SPECIAL(name) asm volatile("mov.u32 %0, %%" name ";" : "=r"(u)); *fact++ = u;
    SPECIAL("smid")
    SPECIAL("nsmid")
    SPECIAL("warpid")
    SPECIAL("nwarpid")
    SPECIAL("laneid")
    SPECIAL("total_smem_size")
    SPECIAL("dynamic_smem_size")
    asm volatile("mov.u64 %0, %%gridid;" : "=l"(w));
    *fact++ = w;
    *fact++ = clock_at_start;
    *fact++ = clock64();
    *fact++ = (unsigned)clock();
    asm volatile("mov.u32 %0, %%clock_hi;" : "=r"(u));
    *fact++ = u;
    *fact++ = timer_at_start;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(w));
    *fact++ = w;
    *fact++ = threadIdx.x == 0 ? atomicAdd(&launches, 1u) : 0;
    *fact++ = warpSize;
    *fact++ = at((const void *)&first[0][0]) - __cvta_generic_to_shared(first);
    *fact++ = at((const void *)second) - __cvta_generic_to_shared(second);
    *fact++ = at((const void *)local) - __cvta_generic_to_local((const void *)local);
#ifdef __CUDA_ARCH__
    *fact++ = __CUDA_ARCH__;
#else
    *fact++ = 0;
#endif
    *fact++ = local[n & 7] + in_global[n] + in_constant[n & 1] + (int)first[3][3];
}
