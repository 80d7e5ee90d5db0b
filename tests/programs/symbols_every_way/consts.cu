#include <stdio.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_) { printf("%d: %s\n", __LINE__, cudaGetErrorName(e_)); return 1; } } while (0)
struct Params { float scale; int shift[3]; };
__constant__ Params params;
__constant__ float table[8];
__device__ int counters[4];
__device__ float *slot;
__global__ void use(float *out) {
    int i = threadIdx.x;
    out[i] = table[i] * params.scale + params.shift[i % 3];
    atomicAdd(&counters[i % 4], 1);
    if (i == 0) slot = out;
}
__global__ void through() { slot[threadIdx.x] += 0.5f; }
int main() {
    Params p = {10, {1, 2, 3}};
    float h[8], *d, *address;
    int c[4] = {0, 0, 0, 0};
    size_t size;
    for (int i = 0; i < 8; i++) h[i] = i;
    CK(cudaMalloc(&d, sizeof h));
    CK(cudaMemcpyToSymbol(params, &p, sizeof p));
    CK(cudaMemcpyToSymbol(table, h, 4 * sizeof(float)));
    CK(cudaMemcpyToSymbol(table, h + 4, 4 * sizeof(float), 4 * sizeof(float), cudaMemcpyHostToDevice));
    CK(cudaMemcpyToSymbolAsync(counters, c, sizeof c));
    CK(cudaGetSymbolSize(&size, table));
    use<<<1, 8>>>(d);
    through<<<1, 8>>>();
    CK(cudaGetLastError());
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    CK(cudaMemcpyFromSymbol(c, counters, 2 * sizeof(int), 2 * sizeof(int)));
    CK(cudaGetSymbolAddress((void **)&address, table));
    CK(cudaMemcpy(&p.scale, address + 7, sizeof(float), cudaMemcpyDeviceToHost));
    printf("%g %g %zu %d %d %g\n", h[0], h[7], size, c[0], c[1], p.scale);
    cudaError_t e = cudaMemcpyToSymbol(table, h, 9 * sizeof(float));
    printf("%s\n", cudaGetErrorName(e));
    cudaGetLastError();
    cudaFree(d);
    return 0;
}
