// Functions that stay functions: by-value structs, recursion, pointers to functions, printf.
struct Item {
    float* data;
    int count;
    float weight[3];
};

__device__ __noinline__ float weigh(float x, Item item) { return x * item.weight[1] + item.count; }
__device__ __noinline__ Item make(int n) { return Item{nullptr, n, {1.0f * n, 2.0f * n, 3.0f}}; }
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ void store(float* out, float value) { *out = value; }

typedef float (*Function)(float);
__device__ float increment(float x) { return x + 1; }
__device__ float twice(float x) { return x * 2; }
__device__ Function functions[2] = {increment, twice};

extern "C" __global__ void calls(Item item, float* out, int n) {
    Item other = make(n);
    float value = weigh(out[0], item) + other.weight[2] + other.count + fibonacci(n);
    value += functions[n & 1](value);
    store(out, value);
    printf("%d %f\n", n, value);
}
