// Products on tensor cores: through nvcuda::wmma, and by the instruction itself with fragments laid out by hand.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// c (32 × 32) = 2 · a (32 × 48) · b (48 × 32, by columns), a tile of 16 × 16 each warp, staged in shared memory.
extern "C" __global__ void wmma_tiles(const half* a, const half* b, float* c) {
    __shared__ half s[16 * 24], t[16 * 24];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 16;
    for (int k = 0; k < 48; k += 16) {
        for (int i = lane; i < 256; i += 32) {
            s[i / 16 * 24 + i % 16] = a[(row + i / 16) * 48 + k + i % 16];
            t[i / 16 * 24 + i % 16] = b[(column + i / 16) * 48 + k + i % 16];
        }
        __syncthreads();
        wmma::load_matrix_sync(fa, s, 24);
        wmma::load_matrix_sync(fb, t, 24);
        wmma::mma_sync(fc, fa, fb, fc);
        __syncthreads();
    }
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 2.0f;
    wmma::store_matrix_sync(c + row * 32 + column, fc, 32, wmma::mem_row_major);
}

// d = a · b + c in half precision: 8 × 16 by columns times 16 × 32, and 32 × 16 times 16 × 8 by columns.
extern "C" __global__ void wmma_long(const half* a, const half* b, half* c) {
    if (threadIdx.x / 32 == 0) {
        wmma::fragment<wmma::matrix_a, 8, 32, 16, half, wmma::col_major> fa;
        wmma::fragment<wmma::matrix_b, 8, 32, 16, half, wmma::row_major> fb;
        wmma::fragment<wmma::accumulator, 8, 32, 16, half> fc;
        wmma::load_matrix_sync(fa, a, 8);
        wmma::load_matrix_sync(fb, b, 32);
        wmma::load_matrix_sync(fc, c, 32, wmma::mem_row_major);
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(c, fc, 32, wmma::mem_row_major);
    } else {
        wmma::fragment<wmma::matrix_a, 32, 8, 16, half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 32, 8, 16, half, wmma::col_major> fb;
        wmma::fragment<wmma::accumulator, 32, 8, 16, half> fc;
        wmma::load_matrix_sync(fa, b, 16);
        wmma::load_matrix_sync(fb, a, 16);
        wmma::load_matrix_sync(fc, c + 256, 32, wmma::mem_col_major);
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(c + 256, fc, 32, wmma::mem_col_major);
    }
}

__device__ unsigned pair(unsigned short low, unsigned short high) { return low | (unsigned)high << 16; }

// Of the warp's lane: its row (or column) in an 8 × 4 arrangement, and its place in it.
#define LANE int g = threadIdx.x / 4, t = threadIdx.x % 4;
#define STORE                                                                                   \
    c[g * 8 + 2 * t] = d0, c[g * 8 + 2 * t + 1] = d1;                                           \
    c[(g + 8) * 8 + 2 * t] = d2, c[(g + 8) * 8 + 2 * t + 1] = d3;
#define SUMS                                                                                    \
    float d0 = c[g * 8 + 2 * t], d1 = c[g * 8 + 2 * t + 1], d2 = c[(g + 8) * 8 + 2 * t],        \
          d3 = c[(g + 8) * 8 + 2 * t + 1];

// a: 16 × 8, b: 8 × 8, c: 16 × 8, all by rows.
extern "C" __global__ void mma_f16_k8(const unsigned short* a, const unsigned short* b, float* c) {
    LANE SUMS
    unsigned a0 = pair(a[g * 8 + 2 * t], a[g * 8 + 2 * t + 1]);
    unsigned a1 = pair(a[(g + 8) * 8 + 2 * t], a[(g + 8) * 8 + 2 * t + 1]);
    unsigned b0 = pair(b[2 * t * 8 + g], b[(2 * t + 1) * 8 + g]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "r"(a0), "r"(a1), "r"(b0));
    STORE
}

#define WIDE                                                                                    \
    unsigned a0 = pair(a[g * 16 + 2 * t], a[g * 16 + 2 * t + 1]);                               \
    unsigned a1 = pair(a[(g + 8) * 16 + 2 * t], a[(g + 8) * 16 + 2 * t + 1]);                   \
    unsigned a2 = pair(a[g * 16 + 2 * t + 8], a[g * 16 + 2 * t + 9]);                           \
    unsigned a3 = pair(a[(g + 8) * 16 + 2 * t + 8], a[(g + 8) * 16 + 2 * t + 9]);               \
    unsigned b0 = pair(b[2 * t * 8 + g], b[(2 * t + 1) * 8 + g]);                               \
    unsigned b1 = pair(b[(2 * t + 8) * 8 + g], b[(2 * t + 9) * 8 + g]);

// a: 16 × 16, b: 16 × 8.
extern "C" __global__ void mma_f16_k16(const unsigned short* a, const unsigned short* b, float* c) {
    LANE SUMS WIDE
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    STORE
}

extern "C" __global__ void mma_bf16_k16(const unsigned short* a, const unsigned short* b, float* c) {
    LANE SUMS WIDE
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    STORE
}

// Sums in half precision: two of a row in a register.
extern "C" __global__ void mma_half_sums(const unsigned short* a, const unsigned short* b, unsigned short* c) {
    LANE WIDE
    unsigned d0 = pair(c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1]);
    unsigned d1 = pair(c[(g + 8) * 8 + 2 * t], c[(g + 8) * 8 + 2 * t + 1]);
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d0), "+r"(d1) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    c[g * 8 + 2 * t] = d0, c[g * 8 + 2 * t + 1] = d0 >> 16;
    c[(g + 8) * 8 + 2 * t] = d1, c[(g + 8) * 8 + 2 * t + 1] = d1 >> 16;
}

// a: 16 × 8, b: 8 × 8 of float, of which 10 bits of fraction count.
extern "C" __global__ void mma_tf32_k8(const unsigned* a, const unsigned* b, float* c) {
    LANE SUMS
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a[g * 8 + t]), "r"(a[(g + 8) * 8 + t]), "r"(a[g * 8 + t + 4]), "r"(a[(g + 8) * 8 + t + 4]),
                   "r"(b[t * 8 + g]), "r"(b[(t + 4) * 8 + g]));
    STORE
}

// a: 16 × 32 of signed, b: 32 × 8 of unsigned bytes.
extern "C" __global__ void mma_bytes(const signed char* a, const unsigned char* b, int* c) {
    LANE
    unsigned ra[4], rb[2];
    int d0 = c[g * 8 + 2 * t], d1 = c[g * 8 + 2 * t + 1], d2 = c[(g + 8) * 8 + 2 * t], d3 = c[(g + 8) * 8 + 2 * t + 1];
    for (int r = 0; r < 4; ++r)
        ra[r] = *(const unsigned*)&a[(g + r % 2 * 8) * 32 + 4 * t + r / 2 * 16];
    for (int r = 0; r < 2; ++r) {
        rb[r] = 0;
        for (int i = 0; i < 4; ++i) rb[r] |= (unsigned)b[(4 * t + i + 16 * r) * 8 + g] << 8 * i;
    }
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d0), "+r"(d1), "+r"(d2), "+r"(d3)
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    STORE
}

// In double precision, by the instruction and through nvcuda::wmma's own words for newer devices.
extern "C" __global__ void mma_f64(const double* a, const double* b, const double* c, double* d) {
    int t = threadIdx.x;
    double low = c[t / 4 * 8 + t % 4 * 2], high = c[t / 4 * 8 + t % 4 * 2 + 1];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(low), "+d"(high) : "d"(a[t / 4 * 4 + t % 4]), "d"(b[t % 4 * 8 + t / 4]));
    d[t / 4 * 8 + t % 4 * 2] = low, d[t / 4 * 8 + t % 4 * 2 + 1] = high;
}
