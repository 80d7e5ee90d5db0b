// Memory: vector accesses, local arrays, constants, device variables, pointers to anywhere.
extern "C" __global__ void vectors(const float4* a, const float2* b, const uchar4* c, const short2* s, const double2* d,
                                   float4* out, float2* pairs, uchar4* bytes, double2* wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = a[i];
    float2 w = b[i];
    uchar4 u = c[i];
    short2 t = s[i];
    double2 e = d[i];
    out[i] = make_float4(v.w, v.z, v.y + w.x, v.x + w.y);
    pairs[i] = make_float2(t.x * 2.0f, t.y - 1.0f);
    bytes[i] = make_uchar4(u.w, u.z + 1, u.y + 2, u.x ^ 0x55);
    wide[i] = make_double2(e.y, e.x + u.x);
}

extern "C" __global__ void local_array(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int stack[16];
    for (int k = 0; k < 16; ++k) stack[k] = a[(i + k) % n];
    for (int k = 1; k < 16; ++k) {
        int value = stack[k], j = k;
        for (; j > 0 && stack[j - 1] > value; --j) stack[j] = stack[j - 1];
        stack[j] = value;
    }
    out[i] = stack[a[i] & 15] * 3 + stack[(unsigned)i % 16];
}

__constant__ float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
__constant__ int settings[4];
struct Pair { short key; double value; };
__constant__ Pair table[3] = {{1, 1.5}, {-2, 2.5}, {300, -3.5}};
__device__ int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ unsigned total = 100;
__device__ int scratch[256];
__device__ int* cursor = &primes[2];

extern "C" __global__ void constants(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = settings[i & 3];
    for (int k = 0; k < 5; ++k) s += weights[k] * a[min(max(i + k - 2, 0), n - 1)];
    const Pair& p = table[i % 3];
    out[i] = s + (float)p.value * p.key;
}

extern "C" __global__ void device_variables(int* out, int n) {
    int i = threadIdx.x;
    scratch[i] = i * primes[i & 7];
    atomicAdd(&total, 1u);
    __syncthreads();
    out[i] = scratch[n - 1 - i] + cursor[i & 1];
    if (i == 0) out[n] = total;
}

struct View { float* data; int rows, cols; };
struct Job { View in; View out; float scale; };

extern "C" __global__ void struct_argument(Job job) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < job.in.rows * job.in.cols) {
        int r = i / job.in.cols, c = i % job.in.cols;
        job.out.data[c * job.out.cols + r] = job.scale * job.in.data[i];
    }
}

// One pointer, three spaces: the compiler cannot tell, so the accesses are generic.
extern "C" __global__ void generic_pointers(float* a, float* out, int n) {
    __shared__ float tile[64];
    float mine[4];
    int i = threadIdx.x;
    tile[i] = a[i] + 1.0f;
    for (int k = 0; k < 4; ++k) mine[k] = a[i] * k;
    __syncthreads();
    float* where = i % 3 == 0 ? &tile[63 - i] : i % 3 == 1 ? &a[n - 1 - i] : &mine[i & 3];
    out[i] = *where;
}

extern "C" __global__ void hints(const float* __restrict__ a, volatile float* v, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = __ldg(a + i) + __ldcg(a + i) + __ldcs(a + (n - 1 - i));
    v[i] = x;
    __stcg(out + i, v[i] + v[i]);
}

struct Particle { float position[3]; float mass; int kind; char name[5]; };

extern "C" __global__ void array_of_structs(const Particle* a, Particle* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle p = a[i];
    p.position[p.kind % 3] += p.mass;
    p.name[p.kind % 5] = 'x';
    out[n - 1 - i] = p;
}

template <int N> struct Matrix { float m[N][N]; };

extern "C" __global__ void matrix_by_value(Matrix<4> left, const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v[4], r[4];
    for (int k = 0; k < 4; ++k) v[k] = a[4 * i + k];
    for (int k = 0; k < 4; ++k) {
        r[k] = 0;
        for (int j = 0; j < 4; ++j) r[k] = fmaf(left.m[k][j], v[j], r[k]);
    }
    for (int k = 0; k < 4; ++k) out[4 * i + k] = r[(k + i) & 3];
}
