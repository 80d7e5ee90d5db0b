// A function takes the buffer by value: its copy frees the memory, and the original frees it again.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void twice(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= 2;
}

class Buffer {
public:
    explicit Buffer(int n) : n_(n) { cudaMalloc(&data_, n * sizeof(float)); }
    ~Buffer() {
        cudaFree(data_);
    }
    float* data() const { return data_; }
    int size() const { return n_; }

private:
    int n_;
    float* data_ = nullptr;
};

void clear(Buffer& b) { cudaMemset(b.data(), 0, b.size() * sizeof(float)); }

void receive(float* to,
             Buffer from) {
    cudaMemcpy(to, from.data(), from.size() * sizeof(float), cudaMemcpyDeviceToHost);
}

int main() {
    float values[64] = {1};
    Buffer buffer(64);
    clear(buffer);

    twice<<<1, 64>>>(buffer.data(), 64);
    receive(values, buffer);
    printf("%d\n", cudaDeviceSynchronize() == cudaSuccess);
}
