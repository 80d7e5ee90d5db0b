// A function takes the buffer by value: its copy frees the memory, and the kernel works on what is freed.
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

void send(const float* from,
          Buffer to) {
    cudaMemcpy(to.data(), from, to.size() * sizeof(float), cudaMemcpyHostToDevice);
}

int main() {
    float values[64] = {1};
    Buffer buffer(64);
    clear(buffer);
    send(values, buffer);
    twice<<<1, 64>>>(buffer.data(), 64);
    printf("%d\n", cudaDeviceSynchronize() == cudaSuccess);
}
