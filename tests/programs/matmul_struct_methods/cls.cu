#include <cstdio>
#include <cstdlib>
#define BS 16
struct Mat {
  int rows, cols;
  float *data;
  Mat(int r, int c) : rows(r), cols(c), data(nullptr) {}
  __host__ __device__ float &at(int i, int j) { return data[i * cols + j]; }
  __host__ __device__ float at(int i, int j) const { return data[i * cols + j]; }
  size_t bytes() const { return sizeof(float) * rows * cols; }
};
__global__ void mulKernel(Mat A, Mat B, Mat C) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < C.rows && j < C.cols) {
    float s = 0;
    for (int k = 0; k < A.cols; k++) s += A.at(i, k) * B.at(k, j);
    C.at(i, j) = s;
  }
}
__global__ void mulSharedKernel(Mat A, Mat B, Mat C) {
  __shared__ float as[BS][BS], bs[BS][BS];
  int j = blockIdx.x * BS + threadIdx.x, i = blockIdx.y * BS + threadIdx.y;
  float s = 0;
  for (int m = 0; m < (A.cols + BS - 1) / BS; m++) {
    int ka = m * BS + threadIdx.x, kb = m * BS + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = (i < A.rows && ka < A.cols) ? A.at(i, ka) : 0;
    bs[threadIdx.y][threadIdx.x] = (kb < B.rows && j < B.cols) ? B.at(kb, j) : 0;
    __syncthreads();
    for (int k = 0; k < BS; k++) s += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  if (i < C.rows && j < C.cols) C.at(i, j) = s;
}
int main() {
  Mat a(50, 70), b(70, 40), c(50, 40);
  Mat da = a, db = b, dc = c;
  a.data = (float*)malloc(a.bytes()); b.data = (float*)malloc(b.bytes()); c.data = (float*)malloc(c.bytes());
  for (int i = 0; i < 50 * 70; i++) a.data[i] = i % 3;
  for (int i = 0; i < 70 * 40; i++) b.data[i] = i % 4;
  cudaMalloc(&da.data, a.bytes()); cudaMalloc(&db.data, b.bytes()); cudaMalloc(&dc.data, c.bytes());
  cudaMemcpy(da.data, a.data, a.bytes(), cudaMemcpyHostToDevice);
  cudaMemcpy(db.data, b.data, b.bytes(), cudaMemcpyHostToDevice);
  dim3 t(BS, BS), g((40 + BS - 1) / BS, (50 + BS - 1) / BS);
  for (int v = 0; v < 2; v++) {
    if (v) mulSharedKernel<<<g, t>>>(da, db, dc); else mulKernel<<<g, t>>>(da, db, dc);
    if (cudaGetLastError() != cudaSuccess) { puts("error"); return 1; }
    cudaMemcpy(c.data, dc.data, c.bytes(), cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < 50; i++) for (int j = 0; j < 40; j++) { float s = 0; for (int k = 0; k < 70; k++) s += a.at(i,k) * b.at(k,j); bad += s != c.at(i,j); }
    printf("%d\n", bad);
  }
  cudaFree(da.data); cudaFree(db.data); cudaFree(dc.data);
}
