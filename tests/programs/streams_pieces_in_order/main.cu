// Pieces by streams, five ways, each in order: own streams, by pointer and by offset; the default stream with streams
// that it waits for, and with others behind events; one stream for two buffers.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void twice(const float* from, float* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = 2 * from[i];
}

__global__ void twice_from(const float* from, float* to, int first, int n) {
    int i = first + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = 2 * from[i];
}

const int N = 200, PIECE = 64;
float *in, *out, *from, *to;
cudaStream_t own[2], blocking[2];

int right() {
    int good = 1;
    for (int i = 0; i < N; i++) {
        good &= out[i] == 2 * in[i];
        out[i] = 0;
        in[i] += 1;
    }
    return good;
}

void copy_in(int first, int now, int at, cudaStream_t s) {
    cudaMemcpyAsync(from + at, in + first, now * sizeof(float), cudaMemcpyHostToDevice, s);
}

void copy_out(int first, int now, int at, cudaStream_t s) {
    cudaMemcpyAsync(out + first, to + at, now * sizeof(float), cudaMemcpyDeviceToHost, s);
}

int main() {
    cudaMallocHost(&in, N * sizeof(float));
    cudaMallocHost(&out, N * sizeof(float));
    cudaMalloc(&from, 256 * sizeof(float));
    cudaMalloc(&to, 256 * sizeof(float));
    for (int i = 0; i < N; i++) in[i] = i + 1;
    for (int k = 0; k < 2; k++) {
        cudaStreamCreateWithFlags(&own[k], cudaStreamNonBlocking);
        cudaStreamCreate(&blocking[k]);
    }
    cudaEvent_t there, done;
    cudaEventCreate(&there);
    cudaEventCreate(&done);
    for (int way = 0; way < 5; way++) {
        for (int first = 0, k = 0; first < N; first += PIECE, k ^= 1) {
            const int now = N - first < PIECE ? N - first : PIECE;
            cudaStream_t s = way == 2 ? blocking[k] : way == 4 ? own[0] : own[k];
            const int at = way < 2 ? first : way == 4 ? 64 * k : 0;
            if (way == 3) cudaStreamWaitEvent(s, done, 0);
            copy_in(first, now, at, s);
            if (way == 0) twice<<<1, 64, 0, s>>>(from + at, to + at, now);
            if (way == 1) twice_from<<<1, 64, 0, s>>>(from, to, first, N);
            if (way == 2) twice<<<1, 64>>>(from, to, now);
            if (way == 3) {
                cudaEventRecord(there, s);
                cudaStreamWaitEvent(0, there, 0);
                twice<<<1, 64>>>(from, to, now);
                cudaEventRecord(done, 0);
                cudaStreamWaitEvent(s, done, 0);
            }
            if (way == 4) twice<<<1, 64, 0, s>>>(from + at, to + at, now);
            if (way == 2) cudaStreamSynchronize(0);
            copy_out(first, now, at, s);
            if (way == 2 || way == 3) cudaStreamSynchronize(s);
        }
        cudaDeviceSynchronize();
        printf("%d", right());
    }
    printf(" %d\n", cudaGetLastError() == cudaSuccess);
    cudaEventDestroy(there);
    cudaEventDestroy(done);
    for (int k = 0; k < 2; k++) {
        cudaStreamDestroy(own[k]);
        cudaStreamDestroy(blocking[k]);
    }
    cudaFree(from);
    cudaFree(to);
    cudaFreeHost(in);
    cudaFreeHost(out);
}
