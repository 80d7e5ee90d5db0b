#include <cstdio>
// arrays of 96 MiB outside of functions, and what g++ has of <algorithm> without its name
const int N = 1 << 23;
int input[N], output[N], expected[N];
__global__ void twice(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}
int main() {
    const int n = 1 << 16, from = N - n;
    std::fill(input + from, input + N, 21);
    for (int i = from; i < N; i++) expected[i] = std::max(2 * input[i], 0);
    int *in, *out;
    cudaMalloc(&in, n * sizeof(int));
    cudaMalloc(&out, n * sizeof(int));
    cudaMemcpy(in, input + from, n * sizeof(int), cudaMemcpyHostToDevice);
    twice<<<n / 256, 256>>>(in, out, n);
    cudaMemcpy(output + from, out, n * sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d %d %d\n", std::equal(output, output + N, expected), output[N - 1], std::min(output[0], 1));
    cudaFree(in);
    cudaFree(out);
}
