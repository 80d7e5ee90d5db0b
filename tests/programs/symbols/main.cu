#include <cuda.h>
#include <iostream>
#include <iomanip>
using namespace std;
const int N = 16;
__device__ float A[N][N], B[N][N];
__constant__ int dims[2];
struct Point { float x, y; };
__global__ void tr() { int x = threadIdx.x, y = threadIdx.y; B[x][y] = A[y][x] + dims[0]; }
__global__ void pts(Point *p) { p[threadIdx.x].x += p[threadIdx.x].y; }
int main() { float h[N][N]; for (int i=0;i<N;i++) for (int j=0;j<N;j++) h[i][j]=i*N+j; int dd[2]={1,2};
 cudaMemcpyToSymbol(A, h, sizeof(h)); cudaMemcpyToSymbol(dims, dd, sizeof dd); tr<<<1, dim3(N,N)>>>(); cudaMemcpyFromSymbol(h, B, sizeof(h)); cout << fixed << setprecision(2) << h[1][0] << endl;
 Point *p; Point q[4] = {{1,2},{3,4},{5,6},{7,8}}; cudaMalloc((void**)&p, sizeof q); cudaMemcpy(p,q,sizeof q,cudaMemcpyHostToDevice); pts<<<1,4>>>(p); cudaMemcpy(q,p,sizeof q,cudaMemcpyDeviceToHost); cout << q[3].x << endl; 
 void *ptr; cudaGetSymbolAddress(&ptr, A); size_t sz; cudaGetSymbolSize(&sz, A); cout << sz << " " << (ptr != nullptr) << endl; int *w = new int[3]; delete[] w; cudaFree(p); return 0; }
