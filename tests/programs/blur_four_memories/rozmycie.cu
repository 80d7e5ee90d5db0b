/*
 * CUDA i czyny: rozmycie wektora srednia kroczaca.
 * Porownanie pamieci hosta: stronicowana, zablokowana, write-combined, mapowana.
 */
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <ctime>
#include <cuda_runtime.h>

#define RADIUS      2
#define BLOCK_SIZE  128
#define ELEMENTS    (BLOCK_SIZE * 16)

#define CHECK_CUDA(x)                                                       \
    {                                                                       \
        cudaError_t blad = (x);                                             \
        if (blad != cudaSuccess) {                                          \
            printf("Blad CUDA w linii %d: %s\n", __LINE__, cudaGetErrorString(blad)); \
            exit(EXIT_FAILURE);                                             \
        }                                                                   \
    }

typedef enum { PAGEABLE, PINNED, WRITE_COMBINED, MAPPED, KINDS } MemoryKind;
static const char* kindName[KINDS] = { "pageable", "pinned", "write-combined", "mapped" };

struct Times {
    float toDevice, kernel, toHost;
    double cpu;
    float total() const { return toDevice + kernel + toHost; }
};

// ------------------------------------------------------------------ kernele
__global__ void blurNaive(const float* input, float* output, int size)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= size) return;
    if (tid < RADIUS || tid >= size - RADIUS) {
        output[tid] = input[tid];
        return;
    }
    float sum = 0.0f;
    for (int i = -RADIUS; i <= RADIUS; ++i)
        sum += input[tid + i];
    output[tid] = sum / (2 * RADIUS + 1);
}

__global__ void blurShared(const float* input, float* output, int size)
{
    __shared__ float cache[BLOCK_SIZE + 2 * RADIUS];
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    int local = threadIdx.x + RADIUS;

    cache[local] = tid < size ? input[tid] : 0.0f;
    if (threadIdx.x < RADIUS) {
        int left = tid - RADIUS;
        int right = tid + BLOCK_SIZE;
        cache[local - RADIUS] = left >= 0 ? input[left] : 0.0f;
        cache[local + BLOCK_SIZE] = right < size ? input[right] : 0.0f;
    }
    __syncthreads();

    if (tid >= size) return;
    if (tid < RADIUS || tid >= size - RADIUS) {
        output[tid] = cache[local];
        return;
    }
    float sum = 0.0f;
    for (int i = -RADIUS; i <= RADIUS; ++i)
        sum += cache[local + i];
    output[tid] = sum / (2 * RADIUS + 1);
}

// --------------------------------------------------------------------- host
static void blurCpu(const float* input, float* output, int size)
{
    for (int i = 0; i < size; ++i) {
        if (i < RADIUS || i >= size - RADIUS) {
            output[i] = input[i];
            continue;
        }
        float sum = 0.0f;
        for (int j = i - RADIUS; j <= i + RADIUS; ++j)
            sum += input[j];
        output[i] = sum / (2 * RADIUS + 1);
    }
}

static void allocate(MemoryKind kind, float** buffer, size_t bytes)
{
    switch (kind) {
    case PAGEABLE:
        *buffer = (float*)malloc(bytes);
        break;
    case PINNED:
        CHECK_CUDA(cudaMallocHost(buffer, bytes));
        break;
    case WRITE_COMBINED:
        CHECK_CUDA(cudaHostAlloc(buffer, bytes, cudaHostAllocWriteCombined));
        break;
    case MAPPED:
        CHECK_CUDA(cudaHostAlloc(buffer, bytes, cudaHostAllocMapped));
        break;
    default:
        exit(EXIT_FAILURE);
    }
}

static void release(MemoryKind kind, float* buffer)
{
    if (kind == PAGEABLE)
        free(buffer);
    else
        CHECK_CUDA(cudaFreeHost(buffer));
}

static void fillRandom(float* v, int n)
{
    for (int i = 0; i < n; ++i)
        v[i] = (float)(rand() % 1000) / 10.0f;
}

static bool same(const float* a, const float* b, int n)
{
    for (int i = 0; i < n; ++i)
        if (fabs(a[i] - b[i]) > 0.01f) {
            printf("roznica na pozycji %d: %f %f\n", i, a[i], b[i]);
            return false;
        }
    return true;
}

static bool test(MemoryKind kind, bool shared, Times& t)
{
    const size_t bytes = ELEMENTS * sizeof(float);
    float *in, *out, *ref = (float*)malloc(bytes);
    float *d_in, *d_out;
    cudaEvent_t e0, e1, e2, e3;
    CHECK_CUDA(cudaEventCreate(&e0));
    CHECK_CUDA(cudaEventCreate(&e1));
    CHECK_CUDA(cudaEventCreate(&e2));
    CHECK_CUDA(cudaEventCreate(&e3));

    allocate(kind, &in, bytes);
    allocate(kind, &out, bytes);
    fillRandom(in, ELEMENTS);

    CHECK_CUDA(cudaEventRecord(e0, 0));
    if (kind == MAPPED) {
        CHECK_CUDA(cudaHostGetDevicePointer(&d_in, in, 0));
        CHECK_CUDA(cudaHostGetDevicePointer(&d_out, out, 0));
    } else {
        CHECK_CUDA(cudaMalloc(&d_in, bytes));
        CHECK_CUDA(cudaMalloc(&d_out, bytes));
        CHECK_CUDA(cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice));
    }
    CHECK_CUDA(cudaEventRecord(e1, 0));
    int blocks = (ELEMENTS + BLOCK_SIZE - 1) / BLOCK_SIZE;
    if (shared)
        blurShared<<<blocks, BLOCK_SIZE>>>(d_in, d_out, ELEMENTS);
    else
        blurNaive<<<blocks, BLOCK_SIZE>>>(d_in, d_out, ELEMENTS);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaEventRecord(e2, 0));
    if (kind != MAPPED)
        CHECK_CUDA(cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaEventRecord(e3, 0));
    CHECK_CUDA(cudaEventSynchronize(e3));
    CHECK_CUDA(cudaEventElapsedTime(&t.toDevice, e0, e1));
    CHECK_CUDA(cudaEventElapsedTime(&t.kernel, e1, e2));
    CHECK_CUDA(cudaEventElapsedTime(&t.toHost, e2, e3));

    clock_t begin = clock();
    blurCpu(in, ref, ELEMENTS);
    t.cpu = 1000.0 * (clock() - begin) / CLOCKS_PER_SEC;
    bool ok = same(out, ref, ELEMENTS);

    if (kind != MAPPED) {
        CHECK_CUDA(cudaFree(d_in));
        CHECK_CUDA(cudaFree(d_out));
    }
    release(kind, in);
    release(kind, out);
    free(ref);
    CHECK_CUDA(cudaEventDestroy(e0));
    CHECK_CUDA(cudaEventDestroy(e1));
    CHECK_CUDA(cudaEventDestroy(e2));
    CHECK_CUDA(cudaEventDestroy(e3));
    return ok;
}

int main()
{
    cudaDeviceProp prop;
    CHECK_CUDA(cudaGetDeviceProperties(&prop, 0));
    if (!prop.canMapHostMemory) {
        puts("brak mapowania pamieci");
        return 1;
    }
    CHECK_CUDA(cudaSetDeviceFlags(cudaDeviceMapHost));
    int failed = 0;
    for (int shared = 0; shared < 2; ++shared)
        for (int k = PAGEABLE; k < KINDS; ++k) {
            Times t;
            bool ok = test((MemoryKind)k, shared != 0, t);
            failed += !ok;
            printf("%-7s %-15s %s%s\n", shared ? "shared" : "naive", kindName[k], ok ? "zgodne" : "NIEZGODNE",
                   t.total() > 0 && t.cpu >= 0 ? "" : " brak czasu");
        }
    return failed;
}
