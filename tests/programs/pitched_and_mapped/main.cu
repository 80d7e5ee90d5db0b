#include <cstdio>
#include <cstdlib>
#define W 33
#define H 17
__global__ void inc(float *p, size_t pitch) { int x = threadIdx.x + blockIdx.x*blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y; if (x < W && y < H) ((float*)((char*)p + y*pitch))[x] += 1; }
int main() { float h[H][W], *d; size_t pitch; for (auto &r : h) for (auto &v : r) v = 2; cudaMallocPitch(&d, &pitch, W*sizeof(float), H); cudaMemcpy2D(d, pitch, h, W*sizeof(float), W*sizeof(float), H, cudaMemcpyHostToDevice); inc<<<dim3(3,2),dim3(16,16)>>>(d,pitch); cudaMemcpy2D(h, W*sizeof(float), d, pitch, W*sizeof(float), H, cudaMemcpyDeviceToHost); printf("%zu %g %g\n", pitch, h[0][0], h[16][32]); cudaFree(d); 
 float *m, *dm; cudaHostAlloc((void**)&m, 64*4, cudaHostAllocMapped); for (int i=0;i<64;i++) m[i]=i; cudaHostGetDevicePointer((void**)&dm, m, 0); inc<<<1,dim3(16,1)>>>(dm, 64*4); cudaDeviceSynchronize(); printf("%g\n", m[3]); cudaFreeHost(m); system("pause"); return 0; }
