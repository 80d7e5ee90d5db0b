#include <cstdio>
#include <cstring>
#include <functional>
// host code that C++ leaves undefined and that does the same wherever it is compiled as it stands
__global__ void square(int *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = (int)((unsigned)i * i);
}
int report(const char *text, int wrong) {
    printf("%s: %d wrong\n", text, wrong);
}
int exponent(float value) {
    int *bits = (int *)&value;
    value *= 2;
    return (*bits >> 23 & 255) - 127;
}
struct Twice : public std::unary_function<int, int> {
    result_type operator()(argument_type value) const { return 2 * value; }
};
int main() {
    const int n = 100000;
    static int values[n];
    int *device;
    cudaMalloc(&device, sizeof values);
    square<<<(n + 255) / 256, 256>>>(device, n);
    cudaMemcpy(values, device, sizeof values, cudaMemcpyDeviceToHost);
    cudaFree(device);
    int wrong = 0;
    for (int i = 0; i < n; i++)
        if (values[i] != i * i) wrong++;
    report("squares", wrong);
    int next = 2147483647, was = next++;
    printf("%d %d %d\n", exponent(8), next < was, Twice()(next / 2));
}

#if !defined(__linux__) || !defined(__unix__)
#error "a program is built for Linux"
#endif
