// Copies that go on by themselves, barriers in shared memory, matrices out of shared memory: what newer devices have.
__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Rows of 16 bytes, of which every fourth is copied in part; what is not copied is zero.
extern "C" __global__ void short_copies(const int* a, int* out) {
    __shared__ __align__(16) int s[256];
    int t = threadIdx.x, bytes = t % 4 ? 16 : t / 4 % 17;
    const int* from = a + 4 * t;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(place(&s[4 * t])), "l"(from), "r"(bytes));
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int k = 0; k < 4; ++k) out[4 * t + k] = s[4 * t + k];
}

// Each thread waits for another number of its copies.
extern "C" __global__ void staged_copies(const int* a, int* out) {
    __shared__ int s[4][64];
    int t = threadIdx.x;
    for (int k = 0; k < 4; ++k) s[k][t] = -1;
    for (int k = 0; k < 4; ++k) {
        if (t % 2 == 0 || k != 1)
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place(&s[k][t])), "l"(a + 64 * k + t));
        asm volatile("cp.async.commit_group;");
    }
    if (t < 20) asm volatile("cp.async.wait_group 2;" ::: "memory");
    else asm volatile("cp.async.wait_group 0;" ::: "memory");
    for (int k = 0; k < (t < 20 ? 2 : 4); ++k) out[64 * k + t] = s[k][t];
    asm volatile("cp.async.wait_all;" ::: "memory");
}

extern "C" __global__ void shared_barrier(const int* a, int* out) {
    __shared__ unsigned long long b, copied;
    __shared__ int s[64], fresh[64];
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 80;" ::"r"(place(&b)));
        asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(place(&copied)));
    }
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place(&fresh[t])), "l"(a + 64 + t));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(place(&copied)) : "memory");
    unsigned long long state;
    for (int round = 0; round < 3; ++round) {
        s[t] = a[t] + round;
        // 16 of the threads count twice.
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1], %2;" : "=l"(state) : "r"(place(&b)), "r"(1 + (t % 4 == 0)) : "memory");
        int over = 0;
        while (!over)
            asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.shared::cta.b64 p, [%1], %2;\nselp.s32 %0, 1, 0, p;\n}"
                         : "=r"(over) : "r"(place(&b)), "l"(state) : "memory");
        out[64 * round + t] = s[63 - t];
        __syncthreads();
    }
    int over = 0;
    while (!over)
        asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], 0;\nselp.s32 %0, 1, 0, p;\n}"
                     : "=r"(over) : "r"(place(&copied)) : "memory");
    out[192 + t] = fresh[63 - t];
}

// Half of the threads leave after the first phase.
extern "C" __global__ void leaving(const int* a, int* out) {
    __shared__ unsigned long long b;
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(place(&b)));
    __syncthreads();
    s[t] = a[t];
    if (t >= 32) {
        asm volatile("mbarrier.arrive_drop.shared.b64 _, [%0];" ::"r"(place(&b)) : "memory");
        return;
    }
    for (int phase = 0; phase < 2; ++phase) {
        asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(place(&b)) : "memory");
        int over = 0;
        while (!over)
            asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.s32 %0, 1, 0, p;\n}"
                         : "=r"(over) : "r"(place(&b)), "r"(phase) : "memory");
        out[32 * phase + t] = s[phase ? 31 - t : 63 - t];
    }
}

// Four matrices of 8 × 8, as they are and with rows and columns exchanged; then one, then two of them.
extern "C" __global__ void matrices_out_of_shared(const unsigned short* a, unsigned* out) {
    __shared__ __align__(16) unsigned short s[32][8 + 8];
    int t = threadIdx.x;
    for (int k = 0; k < 8; ++k) s[t][k] = a[8 * t + k];
    __syncwarp();
    unsigned r[11];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(place(s[t])) : "memory");
    asm volatile("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "r"(place(s[t])) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[8]) : "r"(place(s[31 - t % 8])) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[9]), "=r"(r[10]) : "r"(place(s[t % 16 + 8])) : "memory");
    for (int k = 0; k < 11; ++k) out[32 * k + t] = r[k];
}

extern "C" __global__ void one_of_a_warp(const int* a, int* out) {
    int t = threadIdx.x, chosen = 0, leader = -1;
    unsigned mask = t % 32 < 20 ? 0xfffffu : 0xfff00000u;
    if (t % 32 < 20)
        asm volatile("{\n.reg .pred p;\nelect.sync %0|p, %2;\nselp.s32 %1, 1, 0, p;\n}" : "=r"(leader), "=r"(chosen) : "r"(mask));
    else
        asm volatile("{\n.reg .pred p;\nelect.sync %0|p, %2;\nselp.s32 %1, 1, 0, p;\n}" : "=r"(leader), "=r"(chosen) : "r"(mask));
    int counted;
    asm volatile("{\n.reg .pred p;\nsetp.gt.s32 p, %1, 50;\nbarrier.cta.red.popc.aligned.u32 %0, 2, 64, p;\n}"
                 : "=r"(counted) : "r"(a[t]));
    out[t] = leader + 100 * chosen + 1000 * counted;
}
