#include <wb.h>
__global__ void vecAdd(float *a, float *b, float *c, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) c[i]=a[i]+b[i]; }
int main(int argc, char **argv) { wbArg_t args; int n; float *h1,*h2,*h3,*d1,*d2,*d3; args = wbArg_read(argc, argv);
 wbTime_start(Generic, "Importing data"); h1 = (float *)wbImport(wbArg_getInputFile(args, 0), &n); h2 = (float *)wbImport(wbArg_getInputFile(args, 1), &n); h3 = (float *)malloc(n*sizeof(float)); wbTime_stop(Generic, "Importing data");
 wbLog(TRACE, "The input length is ", n);
 wbCheck(cudaMalloc((void**)&d1, n*4)); wbCheck(cudaMalloc((void**)&d2, n*4)); wbCheck(cudaMalloc((void**)&d3, n*4));
 cudaMemcpy(d1,h1,n*4,cudaMemcpyHostToDevice); cudaMemcpy(d2,h2,n*4,cudaMemcpyHostToDevice);
 dim3 DimGrid((n-1)/256+1,1,1); dim3 DimBlock(256,1,1); vecAdd<<<DimGrid,DimBlock>>>(d1,d2,d3,n); cudaDeviceSynchronize();
 cudaMemcpy(h3,d3,n*4,cudaMemcpyDeviceToHost); cudaFree(d1); cudaFree(d2); cudaFree(d3); wbSolution(args, h3, n); return 0; }
