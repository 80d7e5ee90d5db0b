// The grader's own kernels on the GPU: they make data, check what a student's kernel left, and keep the device busy.
// Arrays of one sample lie `stride` bytes apart, one set for each blockIdx.y.
typedef unsigned long long u64;
typedef unsigned char u8;

__device__ __forceinline__ u64 mix(u64 x)
{
    // splitmix64 (Steele, Lea, Flood 2014): neighbouring numbers become unrelated ones.
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

__device__ __forceinline__ unsigned draw(u64 i, u64 key, unsigned mask)
{
    return (unsigned)mix(i + mix(key + blockIdx.y)) & mask;
}

#define EACH(i, count) \
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < (count); i += (u64)gridDim.x * blockDim.x)

template <typename T>
__device__ void fill_as(u8 *base, u64 count, const u8 *pool, unsigned mask, u64 key)
{
    EACH(i, count)
    ((T *)base)[i] = ((const T *)pool)[draw(i, key, mask)];
}

template <typename T>
__device__ u64 unlike(const u8 *base, u64 count, const u8 *pool, unsigned mask, u64 key)
{
    u64 found = 0;
    EACH(i, count)
    found += ((const T *)base)[i] != ((const T *)pool)[draw(i, key, mask)];
    return found;
}

// Values from the pool, at places that depend on key, set and index.
extern "C" __global__ void fill(u8 *base, u64 stride, u64 count, unsigned width, const u8 *pool, unsigned mask, u64 key)
{
    base += blockIdx.y * stride;
    switch (width) {
    case 1: fill_as<u8>(base, count, pool, mask, key); break;
    case 2: fill_as<unsigned short>(base, count, pool, mask, key); break;
    case 4: fill_as<unsigned>(base, count, pool, mask, key); break;
    case 8: fill_as<u64>(base, count, pool, mask, key); break;
    }
}

// Counts elements that are no longer what `fill` with the same arguments made.
extern "C" __global__ void check_filled(const u8 *base, u64 stride, u64 count, unsigned width, const u8 *pool, unsigned mask,
                                        u64 key, u64 *counter)
{
    base += blockIdx.y * stride;
    u64 found = 0;
    switch (width) {
    case 1: found = unlike<u8>(base, count, pool, mask, key); break;
    case 2: found = unlike<unsigned short>(base, count, pool, mask, key); break;
    case 4: found = unlike<unsigned>(base, count, pool, mask, key); break;
    case 8: found = unlike<u64>(base, count, pool, mask, key); break;
    }
    if (found)
        atomicAdd(counter, found);
}

// Every byte to `value`.
extern "C" __global__ void set_bytes(u8 *base, u64 stride, u64 bytes, unsigned value)
{
    base += blockIdx.y * stride;
    const u64 words = bytes / 16;
    const unsigned word = value * 0x01010101u;
    EACH(i, words)
    ((uint4 *)base)[i] = make_uint4(word, word, word, word);
    EACH(i, bytes - words * 16)
    base[words * 16 + i] = (u8)value;
}

// Counts bytes that are not `value`.
extern "C" __global__ void check_bytes(const u8 *base, u64 stride, u64 bytes, unsigned value, u64 *counter)
{
    base += blockIdx.y * stride;
    u64 found = 0;
    EACH(i, bytes)
    found += base[i] != (u8)value;
    if (found)
        atomicAdd(counter, found);
}

// Counts bytes in which two arrays differ.
extern "C" __global__ void check_same(const u8 *a, const u8 *b, u64 bytes, u64 *counter)
{
    u64 found = 0;
    EACH(i, bytes)
    found += a[i] != b[i];
    if (found)
        atomicAdd(counter, found);
}

__device__ __forceinline__ bool close(double got, double want, double absolute, double relative)
{
    if (got != got || want != want)
        return got != got && want != want;
    return got == want || fabs(got - want) <= absolute + relative * fabs(want);
}

__device__ __forceinline__ double half_value(unsigned short bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

template <typename T>
__device__ void compare_as(const u8 *got, const u8 *want, u64 count, T sentinel, unsigned kind, double absolute,
                           double relative, u64 *wrong, u64 *unwritten, u64 *empty_handed)
{
    u64 bad = 0, untouched = 0, zero = 0;
    EACH(i, count)
    {
        const T a = ((const T *)got)[i], b = ((const T *)want)[i];
        if (a == b)
            continue;
        zero += a == 0;
        bool right = false;
        if (kind == 1)
            right = close(half_value((unsigned short)a), half_value((unsigned short)b), absolute, relative);
        else if (kind == 2)
            right = close(__uint_as_float((unsigned)a), __uint_as_float((unsigned)b), absolute, relative);
        else if (kind == 3)
            right = close(__longlong_as_double((long long)a), __longlong_as_double((long long)b), absolute, relative);
        if (right && a != sentinel) // what nobody wrote is wrong where NaN is wanted, too
            continue;
        bad++;
        untouched += a == sentinel;
    }
    if (bad)
        atomicAdd(wrong, bad);
    if (untouched)
        atomicAdd(unwritten, untouched);
    if (zero)
        atomicAdd(empty_handed, zero);
}

// Counts wrong elements, those of them that still hold the sentinel, and zeros where something else is wanted, be they
// within the tolerance or not.  kind: 0 compares bits, 1 float16, 2 float32,
// 3 float64 within |got - want| <= absolute + relative * |want|.
extern "C" __global__ void compare(const u8 *got, u64 got_stride, const u8 *want, u64 want_stride, u64 count, unsigned width,
                                   unsigned kind, double absolute, double relative, unsigned sentinel, u64 *wrong,
                                   u64 *unwritten, u64 *empty_handed)
{
    got += blockIdx.y * got_stride;
    want += blockIdx.y * want_stride;
    const u64 all = sentinel * 0x0101010101010101ull;
    switch (width) {
    case 1: compare_as<u8>(got, want, count, (u8)all, kind, absolute, relative, wrong, unwritten, empty_handed); break;
    case 2: compare_as<unsigned short>(got, want, count, (unsigned short)all, kind, absolute, relative, wrong, unwritten, empty_handed); break;
    case 4: compare_as<unsigned>(got, want, count, (unsigned)all, kind, absolute, relative, wrong, unwritten, empty_handed); break;
    case 8: compare_as<u64>(got, want, count, all, kind, absolute, relative, wrong, unwritten, empty_handed); break;
    }
}

// Evicts the L2 cache by reading: lines that were written would be written back later, while a kernel is timed.
extern "C" __global__ void read_all(const uint4 *data, u64 count, unsigned *nowhere)
{
    unsigned sum = 0;
    EACH(i, count)
    {
        const uint4 v = data[i];
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    if (sum == 0x12345678u)
        *nowhere = sum;
}

// Gives up the lines of a buffer in the L2 cache, so that it is empty as after an invalidation, and no longer full of
// lines that a kernel's own would have to displace.  The buffer's content is undefined afterwards.
extern "C" __global__ void discard(u8 *data, u64 bytes)
{
#if __CUDA_ARCH__ >= 800
    EACH(line, bytes / 128)
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(data + line * 128) : "memory");
#endif
}

extern "C" __global__ void empty()
{
}

// SM cycles and nanoseconds that `cycles` cycles of waiting took.
extern "C" __global__ void clock_probe(u64 *out, u64 cycles)
{
    u64 begin_ns, end_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin_ns));
    const u64 begin = clock64();
    u64 now = begin;
    while (now - begin < cycles)
        now = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end_ns));
    out[0] = now - begin;
    out[1] = end_ns - begin_ns;
}

// 16 * 256 * rounds fused multiply-adds a thread, in 16 independent chains.
extern "C" __global__ void multiply_add(float *nowhere, float factor, unsigned rounds)
{
    float chains[16];
#pragma unroll
    for (int i = 0; i < 16; i++)
        chains[i] = threadIdx.x + i;
    for (unsigned round = 0; round < rounds; round++) {
#pragma unroll 16
        for (int step = 0; step < 256; step++) {
#pragma unroll
            for (int i = 0; i < 16; i++)
                chains[i] = fmaf(chains[i], factor, factor);
        }
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 16; i++)
        sum += chains[i];
    if (sum == 0.123f)
        *nowhere = sum;
}
