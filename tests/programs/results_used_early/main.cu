// An asynchronous copy into page-locked memory, whose result is summed up before the stream is waited for.
#include <cstdio>
__global__ void twice(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}
int main() {
    const int n = 1000;
    int *h, *d_in, *d_out;
    cudaMallocHost(&h, n * sizeof(int));
    cudaMalloc(&d_in, n * sizeof(int));
    cudaMalloc(&d_out, n * sizeof(int));
    for (int i = 0; i < n; i++) h[i] = i;
    cudaStream_t s;
    cudaStreamCreate(&s);
    cudaMemcpyAsync(d_in, h, n * sizeof(int), cudaMemcpyHostToDevice, s);
    twice<<<(n + 255) / 256, 256, 0, s>>>(d_in, d_out, n);
    cudaMemcpyAsync(h, d_out, n * sizeof(int), cudaMemcpyDeviceToHost, s);
    printf("copied back\n");
    long long sum = 0;
    for (int i = 0; i < n; i++)
        sum += h[i];
    printf("%lld\n", sum);
    cudaError_t e = cudaStreamSynchronize(s);
    printf("%s\n", cudaGetErrorString(e));
    cudaFree(d_in);
    cudaFree(d_out);
    cudaFreeHost(h);
    cudaStreamDestroy(s);
}
