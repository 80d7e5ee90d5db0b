// One stream copies in, one computes, one copies out; events hand each piece on.
#include <vector>

__global__ void squares(const float *a, float *b, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        b[i] = 1.0f + a[i] * a[i];
}

void solve(const float *in, float *out, int n)
{
    const int parts = 8, part = (n + parts - 1) / parts;
    cudaHostRegister(const_cast<float *>(in), n * sizeof(float), 0);
    cudaHostRegister(out, n * sizeof(float), 0);
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaStream_t up, work, down;
    cudaStreamCreate(&up);
    cudaStreamCreate(&work);
    cudaStreamCreate(&down);
    std::vector<cudaEvent_t> there(parts), done(parts);
    for (int k = 0; k < parts; ++k) {
        cudaEventCreateWithFlags(&there[k], cudaEventDisableTiming);
        cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming);
    }
    for (int k = 0; k < parts; ++k) {
        const int from = k * part, count = from + part < n ? part : n - from;
        if (count <= 0)
            break;
        cudaMemcpyAsync(a + from, in + from, count * sizeof(float), cudaMemcpyHostToDevice, up);
        cudaEventRecord(there[k], up);
        cudaStreamWaitEvent(work, there[k], 0);
        squares<<<(count + 127) / 128, 128, 0, work>>>(a + from, b + from, count);
        cudaEventRecord(done[k], work);
        cudaStreamWaitEvent(down, done[k], 0);
        cudaMemcpyAsync(out + from, b + from, count * sizeof(float), cudaMemcpyDeviceToHost, down);
    }
    cudaStreamSynchronize(down);
    for (int k = 0; k < parts; ++k) {
        cudaEventDestroy(there[k]);
        cudaEventDestroy(done[k]);
    }
    cudaStreamDestroy(up);
    cudaStreamDestroy(work);
    cudaStreamDestroy(down);
    cudaFree(a);
    cudaFree(b);
    cudaHostUnregister(const_cast<float *>(in));
    cudaHostUnregister(out);
}
