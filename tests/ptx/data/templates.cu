// Mangled weak entries, launch bounds, local arrays, dynamic shared memory.
template <typename T, int N>
__global__ void __launch_bounds__(N, 2) gather(T* data, int shift) {
    extern __shared__ unsigned char raw[];
    T* shared = reinterpret_cast<T*>(raw);
    T local[N];
    for (int k = 0; k < N; ++k)
        local[k] = data[k];
    shared[threadIdx.x] = local[(threadIdx.x + shift) % N];
    __syncthreads();
    data[threadIdx.x] = shared[N - 1 - threadIdx.x];
}

template __global__ void gather<float, 16>(float*, int);
template __global__ void gather<double, 8>(double*, int);
