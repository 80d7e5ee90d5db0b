// Small buffers on the device, one for each stream, used again and again; the kernel works in place.
#include <algorithm>

const int streams = 3, piece = 500;

__global__ void in_place(float *x, int n)
{
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n)
        return;
    const float v = x[i];
    x[i] = v * v + 1;
}

void solve(const float *in, float *out, int n)
{
    cudaHostRegister((void *)in, sizeof(float) * n, cudaHostRegisterDefault);
    cudaHostRegister(out, sizeof(float) * n, cudaHostRegisterDefault);
    cudaStream_t queue[streams];
    float *buffer[streams];
    for (int s = 0; s < streams; ++s) {
        cudaStreamCreate(&queue[s]);
        cudaMalloc(&buffer[s], sizeof(float) * piece);
    }
    for (int begin = 0, s = 0; begin < n; begin += piece, s = (s + 1) % streams) {
        const int count = std::min(piece, n - begin);
        // What is still in the buffer was asked for earlier in the same stream, and goes first.
        cudaMemcpyAsync(buffer[s], in + begin, sizeof(float) * count, cudaMemcpyHostToDevice, queue[s]);
        in_place<<<(count + 255) / 256, 256, 0, queue[s]>>>(buffer[s], count);
        cudaMemcpyAsync(out + begin, buffer[s], sizeof(float) * count, cudaMemcpyDeviceToHost, queue[s]);
    }
    for (int s = 0; s < streams; ++s) {
        cudaStreamSynchronize(queue[s]);
        cudaStreamDestroy(queue[s]);
        cudaFree(buffer[s]);
    }
    cudaHostUnregister((void *)in);
    cudaHostUnregister(out);
}
