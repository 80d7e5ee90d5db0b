// Практическая работа: транспонирование, два варианта без разделяемой памяти и два с ней.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define T 32
#define CHECK(call) \
    do { \
        cudaError_t status = (call); \
        if (status != cudaSuccess) { \
            fprintf(stderr, "строка %d: %s\n", __LINE__, cudaGetErrorString(status)); \
            exit(EXIT_FAILURE); \
        } \
    } while (0)

__global__ void mFill(float *m) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    m[y * gridDim.x * blockDim.x + x] = y * 1000.0f + x;
}

// Запись подряд.
__global__ void mTurn1(float *from, float *to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int side = gridDim.x * blockDim.x;
    to[y * side + x] = from[x * side + y];
}

// Чтение подряд.
__global__ void mTurn2(float *from, float *to) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int side = gridDim.x * blockDim.x;
    to[x * side + y] = from[y * side + x];
}

__global__ void mTurnSM(float *from, float *to) {
    __shared__ float piece[T][T];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y, side = gridDim.x * T;
    piece[threadIdx.y][threadIdx.x] = from[y * side + x];
    __syncthreads();
    x = blockIdx.y * T + threadIdx.x;
    y = blockIdx.x * T + threadIdx.y;
    to[y * side + x] = piece[threadIdx.x][threadIdx.y];
}

__global__ void mTurnSM_W(float *from, float *to) {
    __shared__ float piece[T][T + 1];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y, side = gridDim.x * T;
    piece[threadIdx.y][threadIdx.x] = from[y * side + x];
    __syncthreads();
    x = blockIdx.y * T + threadIdx.x;
    y = blockIdx.x * T + threadIdx.y;
    to[y * side + x] = piece[threadIdx.x][threadIdx.y];
}

static int wrong(const float *m, int side) {
    int count = 0;
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) count += m[y * side + x] != x * 1000.0f + y;
    return count;
}

int main(int argc, char **argv) {
    if (argc != 2 || atoi(argv[1]) % T) {
        fprintf(stderr, "%s <сторона, кратная %d>\n", argv[0], T);
        return 2;
    }
    int side = atoi(argv[1]);
    size_t bytes = sizeof(float) * side * side;
    float *from, *to, *back = (float *)malloc(bytes);
    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMalloc(&to, bytes));
    dim3 grid(side / T, side / T), block(T, T);
    mFill<<<grid, block>>>(from);
    CHECK(cudaGetLastError());
    void (*ways[])(float *, float *) = {mTurn2, mTurnSM, mTurnSM_W};
    for (int i = 0; i < 3; i++) {
        CHECK(cudaMemset(to, 0, bytes));
        ways[i]<<<grid, block>>>(from, to);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(back, to, bytes, cudaMemcpyDeviceToHost));
        printf("%d: %d\n", i, wrong(back, side));
    }
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    free(back);
    return 0;
}
