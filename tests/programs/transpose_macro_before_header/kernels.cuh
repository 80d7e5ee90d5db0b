// included after TILE and PAD are defined
__global__ void k_direct(float *dst, const float *src, int w, int h) {
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < w && y < h) dst[x * h + y] = src[y * w + x];
}
template <int P> __device__ void via_tile(float *dst, const float *src, int w, int h) {
  __shared__ float t[TILE][TILE + P];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x < w && y < h) t[threadIdx.y][threadIdx.x] = src[y * w + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x; y = blockIdx.x * TILE + threadIdx.y;
  if (x < h && y < w) dst[y * h + x] = t[threadIdx.x][threadIdx.y];
}
__global__ void k_smem(float *dst, const float *src, int w, int h) { via_tile<0>(dst, src, w, h); }
__global__ void k_smem_opt(float *dst, const float *src, int w, int h) { via_tile<PAD>(dst, src, w, h); }
