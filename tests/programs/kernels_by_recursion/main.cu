// Templates that call themselves, on both sides: which kernels there are, only the compiler of the host's code knows.
#include <cstdio>
#include <type_traits>

template <int n>
struct Power {
    template <class T>
    __device__ static T of(T x) {
        return x * Power<n - 1>::of(x);
    }
};
template <>
struct Power<0> {
    template <class T>
    __device__ static T of(T) {
        return T(1);
    }
};

template <int n, class T>
__global__ void raised(const T *in, T *out) {
    out[threadIdx.x] = Power<n>::of(in[threadIdx.x]);
    if (threadIdx.x == 2) printf("%d: %.0f\n", n, (double)out[threadIdx.x]);
}

template <int n, class T>
void each_power(const T *in, T *out) {
    raised<n><<<1, 4>>>(in, out);
    cudaDeviceSynchronize();
    if constexpr (n > 1) each_power<n / 2>(in, out);
}

template <unsigned block>
__global__ void summed(const int *in, int *out) {
    __shared__ int part[block];
    part[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if constexpr (block > 32) {
        for (unsigned step = block / 2; step >= 32; step /= 2) {
            if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
            __syncthreads();
        }
    }
    if (threadIdx.x < 32) {
        int value = part[threadIdx.x];
        for (int step = 16; step; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
        if (threadIdx.x == 0) *out = value;
    }
}

// Each type once, each size once.
template <class... T>
void for_types() {
    ([] {
        T values[4] = {1, 2, 3, 4}, *in, *out;
        cudaMalloc(&in, sizeof values);
        cudaMalloc(&out, sizeof values);
        cudaMemcpy(in, values, sizeof values, cudaMemcpyHostToDevice);
        each_power<4>(in, out);
        cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost);
        printf("%s of %zu: %g\n", std::is_floating_point<T>::value ? "float" : "int", sizeof(T), (double)values[3]);
        fflush(stdout);
        cudaFree(in);
        cudaFree(out);
    }(), ...);
}

int main() {
    for_types<int, float, long long, double>();
    int values[256], *in, *out, sum;
    for (int i = 0; i < 256; i++) values[i] = i;
    cudaMalloc(&in, sizeof values);
    cudaMalloc(&out, sizeof(int));
    cudaMemcpy(in, values, sizeof values, cudaMemcpyHostToDevice);
    for (int block = 32; block <= 256; block *= 2) {
        switch (block) {
            case 32: summed<32><<<1, 32>>>(in, out); break;
            case 64: summed<64><<<1, 64>>>(in, out); break;
            case 128: summed<128><<<1, 128>>>(in, out); break;
            case 256: summed<256><<<1, 256>>>(in, out); break;
        }
        cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
        printf("%d: %d\n", block, sum);
    }
    cudaFree(in);
    cudaFree(out);
}
