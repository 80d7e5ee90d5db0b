// Integer arithmetic of all widths, bit operations, carries. Operation k of element i goes to out[k * n + i].
#define PUT(value) out[k++ * n + i] = (value)

extern "C" __global__ void int32_ops(const int* a, const int* b, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], y = b[i], k = 0;
    PUT((int)((unsigned)x + y));
    PUT((int)((unsigned)x - y));
    PUT((int)((unsigned)x * y));
    PUT(y == 0 || (y == -1 && x == (int)0x80000000) ? 7 : x / y);
    PUT(y == 0 || (y == -1 && x == (int)0x80000000) ? 7 : x % y);
    PUT(x & y);
    PUT(x | y);
    PUT(x ^ y);
    PUT((int)((unsigned)x << (y & 31)));
    PUT(x >> (y & 31));
    PUT(min(x, y));
    PUT(max(x, y));
    PUT(~x);
    PUT((x < y) + 2 * (x == y) + 4 * (x > y));
    PUT(__mulhi(x, y));
    PUT(__clz(x));
    PUT(__popc(x));
    PUT(__ffs(x));
    PUT((int)__brev(x));
    PUT((x & ~y) ^ (y | 0x0f0f0f0f));
    PUT(x / 7);
    PUT(x % 10);
}

extern "C" __global__ void uint32_ops(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = b[i], k = 0;
    PUT(y ? x / y : 5);
    PUT(y ? x % y : 5);
    PUT(x >> (y & 31));
    PUT(min(x, y));
    PUT(max(x, y));
    PUT(__umulhi(x, y));
    PUT(x / 1000u);
    PUT(x % 1000003u);
    PUT((x < y) + 2 * (x > y));
    PUT(__byte_perm(x, y, 0x5140));
    PUT(__funnelshift_l(x, y, 9));
    PUT(__funnelshift_r(x, y, y & 31));
    PUT(__umul24(x, y));
    PUT(__sad((int)x, (int)y, 3u));
    PUT(__usad(x, y, 3u));
    PUT(__uhadd(x, y));
    PUT(__urhadd(x, y));
    PUT((x >> 5) & 0x7ff);
    PUT((x & ~0x3ff0u) | ((y & 0x3ffu) << 4));
}

extern "C" __global__ void int64_ops(const long long* a, const long long* b, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long x = a[i], y = b[i];
    unsigned long long u = x, v = y;
    int k = 0;
    PUT((long long)(u + v));
    PUT((long long)(u - v));
    PUT((long long)(u * v));
    PUT(y == 0 || y == -1 ? 7 : x / y);
    PUT(y == 0 || y == -1 ? 7 : x % y);
    PUT(v ? (long long)(u / v) : 7);
    PUT(v ? (long long)(u % v) : 7);
    PUT(x & y);
    PUT(x | y);
    PUT(x ^ y);
    PUT((long long)(u << (y & 63)));
    PUT(x >> (y & 63));
    PUT((long long)(u >> (y & 63)));
    PUT(min(x, y));
    PUT(max(x, y));
    PUT((long long)min(u, v));
    PUT(__clzll(x));
    PUT(__popcll(x));
    PUT(__ffsll(x));
    PUT((long long)__brevll(x));
    PUT((long long)__umul64hi(u, v));
    PUT(__mul64hi(x, y));
    PUT((long long)(int)x * (int)y);
    PUT((long long)((unsigned long long)(unsigned)x * (unsigned)y));
    PUT((x < y) + 2 * (u < v));
}

extern "C" __global__ void narrow_ops(const short* a, const signed char* b, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    short x = a[i];
    signed char y = b[i];
    unsigned short ux = x;
    unsigned char uy = y;
    int k = 0;
    PUT((short)(x + y));
    PUT((short)(x * y));
    PUT((unsigned short)(ux * 3));
    PUT((signed char)(y + 100));
    PUT((unsigned char)(uy - 200));
    PUT(x >> 3);
    PUT(ux >> 3);
    PUT((signed char)x);
    PUT((unsigned char)x);
    PUT(y < 0 ? -1 : uy);
    PUT(max(x, (short)y));
    PUT((unsigned char)(uy << 2) | (ux & 3));
    PUT(y ? x / y : 1);
    PUT(uy ? ux % uy : 1);
}

extern "C" __global__ void narrow_stores(const int* a, signed char* c, unsigned char* uc, short* s, unsigned short* us, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    c[i] = a[i];
    uc[i] = a[i] + 1;
    s[i] = a[i] + 2;
    us[i] = a[i] + 3;
}

extern "C" __global__ void int128_ops(const unsigned long long* a, const unsigned long long* b, unsigned long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned __int128 x = ((unsigned __int128)a[2 * i] << 64) | a[2 * i + 1];
    unsigned __int128 y = ((unsigned __int128)b[2 * i] << 64) | b[2 * i + 1];
    unsigned __int128 results[7] = {x + y, x - y, x * y, x >> (int)(y & 127), x << (int)(y & 127), x ^ y,
                                    (unsigned __int128)((__int128)x >> 17)};
    for (int k = 0; k < 7; ++k) {
        out[(2 * k) * n + i] = (unsigned long long)(results[k] >> 64);
        out[(2 * k + 1) * n + i] = (unsigned long long)results[k];
    }
}

extern "C" __global__ void carry_chain(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x0 = a[3 * i], x1 = a[3 * i + 1], x2 = a[3 * i + 2], y0 = b[3 * i], y1 = b[3 * i + 1], y2 = b[3 * i + 2];
    unsigned s0, s1, s2, d0, d1, d2, p0, p1;
    asm("add.cc.u32 %0, %3, %6; addc.cc.u32 %1, %4, %7; addc.u32 %2, %5, %8;"
        : "=r"(s0), "=r"(s1), "=r"(s2) : "r"(x0), "r"(x1), "r"(x2), "r"(y0), "r"(y1), "r"(y2));
    asm("sub.cc.u32 %0, %3, %6; subc.cc.u32 %1, %4, %7; subc.u32 %2, %5, %8;"
        : "=r"(d0), "=r"(d1), "=r"(d2) : "r"(x0), "r"(x1), "r"(x2), "r"(y0), "r"(y1), "r"(y2));
    asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %5;"
        : "=r"(p0), "=r"(p1) : "r"(x0), "r"(y0), "r"(x1), "r"(y1));
    unsigned values[8] = {s0, s1, s2, d0, d1, d2, p0, p1};
    for (int k = 0; k < 8; ++k) out[k * n + i] = values[k];
}

extern "C" __global__ void bit_fields(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = b[i], start = y & 63, length = (y >> 8) & 63, r;
    int k = 0;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(start), "r"(length));
    PUT(r);
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(start), "r"(length));
    PUT(r);
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(x), "r"(y), "r"(start), "r"(length));
    PUT(r);
    asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(x));
    PUT(r);
    asm("bfind.s32 %0, %1;" : "=r"(r) : "r"(x));
    PUT(r);
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(x), "r"(y), "r"(x >> 7));
    PUT(r);
    asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(start));
    PUT(r);
    asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(start));
    PUT(r);
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(y >> 3));
    PUT(r);
}
