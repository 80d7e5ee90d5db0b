/*
 * Замечания:
 *  - размер блока 64, поэтому 5000 элементов требуют трёх уровней для Хиллиса-Стила и двух для Блеллоха;
 *  - массив сумм сканируется тем же способом;
 *  - проверка - с последовательной суммой на CPU.
 */
// Префиксная сумма (scan) большого массива: суммы блоков сканируются рекурсивно.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 64

#define CHECK(call)                                                                  \
    {                                                                                \
        const cudaError_t error = call;                                              \
        if (error != cudaSuccess)                                                    \
        {                                                                            \
            printf("Error: %s:%d, ", __FILE__, __LINE__);                            \
            printf("code: %d, reason: %s\n", error, cudaGetErrorString(error));      \
            exit(1);                                                                 \
        }                                                                            \
    }

// Хиллис - Стил: n log n сложений
__global__ void scanHillis(const int *in, int *out, int *sums, int n)
{
    __shared__ int buffer[2][BLOCK];
    int t = threadIdx.x;
    int i = blockIdx.x * BLOCK + t;
    int from = 0;

    buffer[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < BLOCK; d *= 2)
    {
        int to = 1 - from;
        if (t >= d)
            buffer[to][t] = buffer[from][t] + buffer[from][t - d];
        else
            buffer[to][t] = buffer[from][t];
        from = to;
        __syncthreads();
    }
    if (i < n)
        out[i] = buffer[from][t];
    if (t == BLOCK - 1)
        sums[blockIdx.x] = buffer[from][t];
}

// Блеллох: вверх по дереву и вниз
__global__ void scanBlelloch(const int *in, int *out, int *sums, int n)
{
    __shared__ int tree[2 * BLOCK];
    int t = threadIdx.x;
    int base = blockIdx.x * 2 * BLOCK;
    int a = base + t, b = base + t + BLOCK;
    int own[2];

    own[0] = tree[t] = a < n ? in[a] : 0;
    own[1] = tree[t + BLOCK] = b < n ? in[b] : 0;
    int offset = 1;
    for (int d = BLOCK; d > 0; d >>= 1)
    {
        __syncthreads();
        if (t < d)
        {
            int left = offset * (2 * t + 1) - 1;
            int right = offset * (2 * t + 2) - 1;
            tree[right] += tree[left];
        }
        offset *= 2;
    }
    if (t == 0)
    {
        sums[blockIdx.x] = tree[2 * BLOCK - 1];
        tree[2 * BLOCK - 1] = 0;
    }
    for (int d = 1; d < 2 * BLOCK; d *= 2)
    {
        offset >>= 1;
        __syncthreads();
        if (t < d)
        {
            int left = offset * (2 * t + 1) - 1;
            int right = offset * (2 * t + 2) - 1;
            int swap = tree[left];
            tree[left] = tree[right];
            tree[right] += swap;
        }
    }
    __syncthreads();
    if (a < n)
        out[a] = tree[t] + own[0];
    if (b < n)
        out[b] = tree[t + BLOCK] + own[1];
}

__global__ void addOffsets(int *data, const int *sums, int n, int perBlock)
{
    int i = blockIdx.x * perBlock + threadIdx.x;
    int offset = blockIdx.x > 0 ? sums[blockIdx.x - 1] : 0;
    for (int k = i; k < n && k < (blockIdx.x + 1) * perBlock; k += blockDim.x)
        data[k] += offset;
}

enum Method
{
    HILLIS,
    BLELLOCH
};

static int depth;

static void scan(const int *d_in, int *d_out, int n, enum Method method)
{
    int perBlock = method == HILLIS ? BLOCK : 2 * BLOCK;
    int blocks = (n + perBlock - 1) / perBlock;
    int *d_sums, *d_scanned;

    depth++;
    CHECK(cudaMalloc((void **)&d_sums, blocks * sizeof(int)));
    switch (method)
    {
    case HILLIS:
        scanHillis<<<blocks, BLOCK>>>(d_in, d_out, d_sums, n);
        break;
    case BLELLOCH:
        scanBlelloch<<<blocks, BLOCK>>>(d_in, d_out, d_sums, n);
        break;
    }
    CHECK(cudaGetLastError());
    if (blocks > 1)
    {
        CHECK(cudaMalloc((void **)&d_scanned, blocks * sizeof(int)));
        scan(d_sums, d_scanned, blocks, method);
        addOffsets<<<blocks, BLOCK>>>(d_out, d_scanned, n, perBlock);
        CHECK(cudaGetLastError());
        CHECK(cudaFree(d_scanned));
    }
    CHECK(cudaFree(d_sums));
}

static void scanCpu(const int *in, int *out, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
    {
        sum += in[i];
        out[i] = sum;
    }
}

static int firstDifference(const int *a, const int *b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] != b[i])
            return i;
    return -1;
}

static int tryOne(const char *name, enum Method method, int n)
{
    int *h_in = (int *)malloc(n * sizeof(int));
    int *h_out = (int *)malloc(n * sizeof(int));
    int *expected = (int *)malloc(n * sizeof(int));
    int *d_in, *d_out, wrong;

    for (int i = 0; i < n; i++)
        h_in[i] = (i * 31) % 7 - 2;
    memset(h_out, 0, n * sizeof(int));
    scanCpu(h_in, expected, n);

    CHECK(cudaMalloc((void **)&d_in, n * sizeof(int)));
    CHECK(cudaMalloc((void **)&d_out, n * sizeof(int)));
    CHECK(cudaMemcpy(d_in, h_in, n * sizeof(int), cudaMemcpyHostToDevice));
    depth = 0;
    scan(d_in, d_out, n, method);
    CHECK(cudaMemcpy(h_out, d_out, n * sizeof(int), cudaMemcpyDeviceToHost));

    wrong = firstDifference(h_out, expected, n);
    if (wrong < 0)
        printf("%s, n = %d: верно, уровней %d\n", name, n, depth);
    else
        printf("%s, n = %d: элемент %d равен %d, должен быть %d\n", name, n, wrong, h_out[wrong], expected[wrong]);

    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_out));
    free(h_in);
    free(h_out);
    free(expected);
    return wrong >= 0;
}

int main(void)
{
    const int sizes[] = {1, 64, 100, 5000};
    int wrong = 0;
    for (int k = 0; k < 4; k++)
    {
        wrong += tryOne("Хиллис-Стил", HILLIS, sizes[k]);
        wrong += tryOne("Блеллох", BLELLOCH, sizes[k]);
    }
    return wrong;
}
