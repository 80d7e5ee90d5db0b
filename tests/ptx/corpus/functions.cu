// Functions that stay functions, and what looks like one.
__device__ __noinline__ int square_plus(int x, int y) { return x * x + y; }
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int ackermann(int m, int n) {
    return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}
__device__ __noinline__ bool is_even(int n);
__device__ __noinline__ bool is_odd(int n) { return n == 0 ? false : is_even(n - 1); }
__device__ __noinline__ bool is_even(int n) { return n == 0 ? true : is_odd(n - 1); }

extern "C" __global__ void calls(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i];
    if (x & 1) x = square_plus(x, i);
    else x = square_plus(i, x) + 1;
    out[i] = square_plus(x & 0xff, 3);
}

extern "C" __global__ void recursion(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = fibonacci(a[i] & 7);
    out[n + i] = ackermann(a[i] % 3, i & 3);
    out[2 * n + i] = is_even(a[i] & 15);
}

typedef int (*Operation)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int minus(int a, int b) { return a - b; }
__device__ int times(int a, int b) { return a * b; }
__device__ Operation operations[3] = {plus, minus, times};

extern "C" __global__ void function_pointers(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = operations[(unsigned)a[i] % 3](a[i], i);
}

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float s) : side(s) {}
    __device__ float area() const override { return side * side; }
};
struct Disc : Shape {
    float radius;
    __device__ explicit Disc(float r) : radius(r) {}
    __device__ float area() const override { return 3.0f * radius * radius; }
};

extern "C" __global__ void virtual_calls(const float* a, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Square square(a[i]);
    Disc disc(a[i]);
    const Shape* shape = i % 2 ? static_cast<const Shape*>(&square) : &disc;
    out[i] = shape->area();
}

template <typename T, int N> __device__ T sum_of(const T* p) {
    T s = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) s += p[k];
    return s;
}
template <typename T, typename F> __global__ void map(const T* a, T* out, int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = f(a[i]);
}
struct Affine {
    float scale, shift;
    __device__ float operator()(float x) const { return fmaf(scale, x, shift); }
};
template __global__ void map<float, Affine>(const float*, float*, int, Affine);

extern "C" __global__ void templates(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 8 <= n) out[i] = sum_of<int, 8>(a + i) - sum_of<int, 3>(a + i);
}

extern "C" __global__ void lambdas(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int base = a[0];
    auto shifted = [=](int x) { return x - base; };
    auto apply = [&](auto f, int times) {
        int x = a[i];
        for (int k = 0; k < times; ++k) x = f(x);
        return x;
    };
    out[i] = apply(shifted, 1 + (i & 3));
}

struct Result { int low, high; long long sum; };
__device__ __noinline__ Result summarise(const int* p, int count) {
    Result r = {p[0], p[0], 0};
    for (int k = 0; k < count; ++k) {
        r.low = min(r.low, p[k]);
        r.high = max(r.high, p[k]);
        r.sum += p[k];
    }
    return r;
}
extern "C" __global__ void struct_results(const int* a, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Result r = summarise(a + i, min(5, n - i));
    out[i] = r.high - r.low + (int)r.sum;
}
