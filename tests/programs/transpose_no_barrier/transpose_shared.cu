#include <stdio.h>
#define N 128
#define T 32
__global__ void transpose_shared(float *out, float *in, int n)
{
  __shared__ float s[T][T];
  int x=blockIdx.x*T+threadIdx.x, y=blockIdx.y*T+threadIdx.y;
  if (x<n && y<n) s[threadIdx.y][threadIdx.x]=in[y*n+x];
  x=blockIdx.y*T+threadIdx.x; y=blockIdx.x*T+threadIdx.y;
  if (x<n && y<n) out[y*n+x]=s[threadIdx.x][threadIdx.y];
}
float h[N][N], r[N][N];
int main() {
  float *i,*o;
  for (int a=0;a<N;a++) for (int b=0;b<N;b++) h[a][b]=a*N+b;
  cudaMalloc(&i,sizeof h); cudaMalloc(&o,sizeof h);
  cudaMemcpy(i,h,sizeof h,cudaMemcpyHostToDevice);
  transpose_shared<<<dim3(N/T,N/T),dim3(T,T)>>>(o,i,N);
  cudaMemcpy(r,o,sizeof r,cudaMemcpyDeviceToHost);
  cudaFree(i); cudaFree(o);
  printf("done %g\n", r[0][0]);
}
