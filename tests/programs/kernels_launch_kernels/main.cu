// A sort by kernels that launch themselves on each part, in streams of their own, and a kernel that takes clock_t.
#include <cstdio>
#include <cstdlib>

template <class T> __global__ void sort(T *data, int left, int right, int depth) {
    if (depth == 8 || right - left < 8) {
        for (int i = left + 1; i <= right; i++)
            for (int j = i; j > left && data[j] < data[j - 1]; j--) {
                T kept = data[j];
                data[j] = data[j - 1];
                data[j - 1] = kept;
            }
        return;
    }
    int low = left, high = right;
    T pivot = data[(left + right) / 2];
    while (low <= high) {
        while (data[low] < pivot) low++;
        while (data[high] > pivot) high--;
        if (low <= high) {
            T kept = data[low];
            data[low++] = data[high];
            data[high--] = kept;
        }
    }
    cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    if (left < high) sort<<<1, 1, 0, one>>>(data, left, high, depth + 1);
    if (low < right) sort<<<1, 1, 0, two>>>(data, low, right, depth + 1);
    cudaStreamDestroy(one);
    cudaStreamDestroy(two);
}

__global__ void greet(int depth, clock_t since) {
    printf("depth %d of %d threads\n", depth, blockDim.x);
    if (blockDim.x > 1 && threadIdx.x == 0) greet<<<1, blockDim.x / 2>>>(depth + 1, since);
}

int main() {
    const int n = 300;
    int *values = (int *)malloc(n * sizeof(int)), *data;
    for (int i = 0; i < n; i++) values[i] = i * 7919 % 1009;
    cudaMalloc(&data, n * sizeof(int));
    cudaMemcpy(data, values, n * sizeof(int), cudaMemcpyHostToDevice);
    sort<<<1, 1>>>(data, 0, n - 1, 0);
    cudaMemcpy(values, data, n * sizeof(int), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 1; i < n; i++) wrong += values[i - 1] > values[i];
    printf("%d %d, %d in the wrong order\n", values[0], values[n - 1], wrong);
    greet<<<1, 4>>>(0, 0);
    cudaDeviceSynchronize();
    cudaFree(data);
    free(values);
}
