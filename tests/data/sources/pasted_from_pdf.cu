#include <stdio.h>
__global__ void before(const float *in, float *out, int n) { out[blockIdx.x * n + threadIdx.x] = in[threadIdx.x]; }
int main() {
    int n = 1 « 8;
    before«<dim3(8), dim3(n)»>(in, out, n);
    before « < 8, n > » (in, out, n);
    return 0;
}
__global__ void after(const float *in, float *out, int n) { out[threadIdx.x * n] = in[threadIdx.x]; }
