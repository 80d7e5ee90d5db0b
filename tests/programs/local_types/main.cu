// Kernels in a namespace without a name, templates over types of a function's own, a kernel that no name can ask for.
#include <cstdio>
#include <cstdlib>

namespace {

__global__ void squared(int *data) { data[threadIdx.x] *= data[threadIdx.x]; }

template <int step>
__global__ void stepped(int *data) {
    data[threadIdx.x] += step;
}

struct Pair {
    int first, second;
};

}  // namespace

template <class T, class Operation>
__global__ void apply(T *data, int n, Operation operation) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = operation(data[i]);
}

template <class T>
__global__ void filled(T *data, T value) {
    data[threadIdx.x] = value;
}

__global__ void plain(int *data) { data[threadIdx.x] = threadIdx.x; }

int main() {
    struct Negated {
        __device__ int operator()(int x) const { return -x; }
    };
    struct Point {
        double x;
        int label;
    };
    int *data;
    cudaMalloc(&data, 32 * sizeof(int));
    plain<<<1, 32>>>(data);
    squared<<<1, 32>>>(data);
    stepped<5><<<1, 32>>>(data);
    apply<<<1, 16>>>(data, 32, Negated{});
    int host[32];
    cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
    printf("%d %d %d\n", host[0], host[1], host[31]);
    Point *points;
    Pair *pairs;
    cudaMalloc(&points, 8 * sizeof(Point));
    cudaMalloc(&pairs, 8 * sizeof(Pair));
    filled<<<1, 8>>>(points, Point{2.5, 7});
    filled<<<1, 8>>>(pairs, Pair{3, 4});
    Point point;
    Pair pair;
    cudaMemcpy(&point, points + 7, sizeof point, cudaMemcpyDeviceToHost);
    cudaMemcpy(&pair, pairs + 7, sizeof pair, cudaMemcpyDeviceToHost);
    printf("%.1f %d, %d %d, %zu\n", point.x, point.label, pair.first, pair.second, sizeof(Point));
    cudaFree(data);
    cudaFree(points);
    cudaFree(pairs);
    return EXIT_SUCCESS;
}
