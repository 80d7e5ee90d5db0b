/* Transposición de una matriz cuadrada en memoria alineada por filas (cudaMallocPitch). */
#include <cstdio>
#include <cstdlib>
#include <vector>

static const unsigned lado = 72;

static void comprobar(cudaError_t codigo, int linea) {
    if (codigo == cudaSuccess) return;
    std::fprintf(stderr, "linea %d: %s\n", linea, cudaGetErrorString(codigo));
    std::exit(1);
}
#define CK(x) comprobar((x), __LINE__)

__global__ void nucleoCpy(float *c, const float *a, unsigned lado, size_t pitch) {
    register unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    register unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < lado && x < lado) c[y * pitch + x] = a[y * pitch + x];
}

__global__ void nucleoTrasp(float *c, const float *a, unsigned lado, size_t pitch) {
    register unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    register unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < lado && x < lado) c[x * pitch + y] = a[y * pitch + x];
}

__global__ void nucleoTraspComp(float *c, const float *a, unsigned lado, size_t pitch) {
    __shared__ float m[32][32];
    unsigned y = blockIdx.y * 32 + threadIdx.y, x = blockIdx.x * 32 + threadIdx.x;
    if (y < lado && x < lado) m[threadIdx.y][threadIdx.x] = a[y * pitch + x];
    __syncthreads();
    y = blockIdx.x * 32 + threadIdx.y;
    x = blockIdx.y * 32 + threadIdx.x;
    if (y < lado && x < lado) c[y * pitch + x] = m[threadIdx.x][threadIdx.y];
}

__global__ void nucleoTraspCompBancos(float *c, const float *a, unsigned lado, size_t pitch) {
    __shared__ float m[32][32 + 1];
    unsigned y = blockIdx.y * 32 + threadIdx.y, x = blockIdx.x * 32 + threadIdx.x;
    if (y < lado && x < lado) m[threadIdx.y][threadIdx.x] = a[y * pitch + x];
    __syncthreads();
    y = blockIdx.x * 32 + threadIdx.y;
    x = blockIdx.y * 32 + threadIdx.x;
    if (y < lado && x < lado) c[y * pitch + x] = m[threadIdx.x][threadIdx.y];
}

int main() {
    std::vector<float> a(lado * lado), c(lado * lado);
    for (unsigned i = 0; i < lado * lado; i++) a[i] = float(i);
    float *da, *dc;
    size_t fila = lado * sizeof(float), ancho;
    CK(cudaMallocPitch((void **)&da, &ancho, fila, lado));
    CK(cudaMallocPitch((void **)&dc, &ancho, fila, lado));
    CK(cudaMemcpy2D(da, ancho, a.data(), fila, fila, lado, cudaMemcpyHostToDevice));
    dim3 bloque(32, 32), malla((lado + 31) / 32, (lado + 31) / 32);
    size_t pitch = ancho / sizeof(float);
    for (int cual = 0; cual < 4; cual++) {
        if (cual == 0) nucleoCpy<<<malla, bloque>>>(dc, da, lado, pitch);
        if (cual == 1) nucleoTrasp<<<malla, bloque>>>(dc, da, lado, pitch);
        if (cual == 2) nucleoTraspComp<<<malla, bloque>>>(dc, da, lado, pitch);
        if (cual == 3) nucleoTraspCompBancos<<<malla, bloque>>>(dc, da, lado, pitch);
        CK(cudaGetLastError());
        CK(cudaMemcpy2D(c.data(), fila, dc, ancho, fila, lado, cudaMemcpyDeviceToHost));
        bool bien = true;
        for (unsigned y = 0; y < lado; y++)
            for (unsigned x = 0; x < lado; x++) bien = bien && c[y * lado + x] == a[cual ? x * lado + y : y * lado + x];
        std::puts(bien ? "the answer is right" : "the answer is wrong");
    }
    CK(cudaFree(da));
    CK(cudaFree(dc));
    return 0;
}
