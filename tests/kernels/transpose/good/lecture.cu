// No sizes: everything from the grid.  Static, dynamic and padded tiles.
#define SH_DIM 32

__global__ void gTranspose0(float *storage_d, float *storage_d_t)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    int N = blockDim.x * gridDim.x;
    storage_d_t[j + i * N] = storage_d[i + j * N];
}

__global__ void gTranspose12(float *storage_d, float *storage_d_t)
{
    __shared__ float buffer[SH_DIM][SH_DIM];
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    int N = blockDim.x * gridDim.x;
    buffer[threadIdx.y][threadIdx.x] = storage_d[i + j * N];
    __syncthreads();
    i = threadIdx.x + blockIdx.y * blockDim.x;
    j = threadIdx.y + blockIdx.x * blockDim.y;
    storage_d_t[i + j * N] = buffer[threadIdx.x][threadIdx.y];
}

__global__ void gTranspose2(float *storage_d, float *storage_d_t)
{
    __shared__ float buffer[SH_DIM][SH_DIM + 1];
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    int j = threadIdx.y + blockIdx.y * blockDim.y;
    int N = blockDim.x * gridDim.x;
    buffer[threadIdx.y][threadIdx.x] = storage_d[i + j * N];
    __syncthreads();
    i = threadIdx.x + blockIdx.y * blockDim.x;
    j = threadIdx.y + blockIdx.x * blockDim.y;
    storage_d_t[i + j * N] = buffer[threadIdx.x][threadIdx.y];
}

int main(int argc, char *argv[])
{
    int N = 256, threads = 32, blocks = N / threads;
    float *a, *b;
    cudaMalloc((void **)&a, N * N * sizeof(float));
    cudaMalloc((void **)&b, N * N * sizeof(float));
    gTranspose0<<<dim3(blocks, blocks), dim3(threads, threads)>>>(a, b);
    gTranspose12<<<dim3(blocks, blocks), dim3(threads, threads)>>>(a, b);
    gTranspose2<<<dim3(blocks, blocks), dim3(threads, threads)>>>(a, b);
    return cudaGetLastError();
}
