// Buffers that free what they hold, handed to functions in five ways, each of which frees once.
#include <cstdio>
#include <cuda_runtime.h>
#include <memory>
#include <utility>

__global__ void twice(float* data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= 2;
}

struct Plain {
    float* data = nullptr;
    Plain() { cudaMalloc(&data, 256); }
    ~Plain() { cudaFree(data); }
};

struct Moved {
    float* data = nullptr;
    Moved() { cudaMalloc(&data, 256); }
    Moved(Moved&& other) noexcept : data(std::exchange(other.data, nullptr)) {}
    ~Moved() { cudaFree(data); }
};

struct Copied {
    float* data = nullptr;
    Copied() { cudaMalloc(&data, 256); }
    Copied(const Copied& other) {
        cudaMalloc(&data, 256);
        cudaMemcpy(data, other.data, 256, cudaMemcpyDeviceToDevice);
    }
    ~Copied() { cudaFree(data); }
};

struct View {
    float* data;
    int size;
};

void by_reference(const Plain& b) { twice<<<1, 64>>>(b.data, 64); }
void by_pointer(std::shared_ptr<Plain> b) { twice<<<1, 64>>>(b->data, 64); }
void by_move(Moved b) { twice<<<1, 64>>>(b.data, 64); }
void by_copy(Copied b) { twice<<<1, 64>>>(b.data, 64); }
void by_view(View v) { twice<<<1, 64>>>(v.data, v.size); }

int main() {
    Plain plain;
    auto shared = std::make_shared<Plain>();
    Moved moved;
    Copied copied;
    cudaMemset(plain.data, 0, 256);
    cudaMemset(shared->data, 0, 256);
    cudaMemset(moved.data, 0, 256);
    cudaMemset(copied.data, 0, 256);
    for (int round = 0; round < 2; round++) {
        by_reference(plain);
        by_pointer(shared);
        by_copy(copied);
        by_view({plain.data, 64});
    }
    by_move(std::move(moved));
    float out[64];
    cudaMemcpy(out, plain.data, 256, cudaMemcpyDeviceToHost);
    cudaMemcpy(out, shared->data, 256, cudaMemcpyDeviceToHost);
    printf("%d\n", cudaGetLastError() == cudaSuccess);
}
