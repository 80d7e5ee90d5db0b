#include <cstdio>
#include <cstdlib>
#define TILE 16
__global__ void matrixMulSingle(float* A, float* B, float* C, int N) {
    for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { float s = 0; for (int k = 0; k < N; k++) s += A[i*N+k]*B[k*N+j]; C[i*N+j] = s; }
}
__global__ void matrixMulParallel(float* A, float* B, float* C, int N) {
    int r = blockIdx.y*blockDim.y+threadIdx.y, c = blockIdx.x*blockDim.x+threadIdx.x;
    if (r < N && c < N) { float s = 0; for (int k = 0; k < N; k++) s += A[r*N+k]*B[k*N+c]; C[r*N+c] = s; }
}
__global__ void matrixMulKernel(float* A, float* B, float* C, int N) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int r = blockIdx.y*TILE+threadIdx.y, c = blockIdx.x*TILE+threadIdx.x; float s = 0;
    for (int t = 0; t < (N+TILE-1)/TILE; t++) {
        a[threadIdx.y][threadIdx.x] = r < N && t*TILE+threadIdx.x < N ? A[r*N+t*TILE+threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = c < N && t*TILE+threadIdx.y < N ? B[(t*TILE+threadIdx.y)*N+c] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++) s += a[threadIdx.y][k]*b[k][threadIdx.x];
        __syncthreads();
    }
    if (r < N && c < N) C[r*N+c] = s;
}
int main() {
    int N = 64; size_t s = N*N*4; float *h = (float*)malloc(s), *a, *b, *c;
    for (int i = 0; i < N*N; i++) h[i] = i % 7;
    cudaMalloc(&a, s); cudaMalloc(&b, s); cudaMalloc(&c, s);
    cudaMemcpy(a, h, s, cudaMemcpyHostToDevice); cudaMemcpy(b, h, s, cudaMemcpyHostToDevice);
    matrixMulSingle<<<1,1>>>(a,b,c,N);
    dim3 t(TILE,TILE), g((N+TILE-1)/TILE,(N+TILE-1)/TILE);
    matrixMulParallel<<<g,t>>>(a,b,c,N);
    matrixMulKernel<<<g,t>>>(a,b,c,N);
    cudaMemcpy(h, c, s, cudaMemcpyDeviceToHost); printf("%f\n", h[0]);
}
