// The size is a constant and the matrices are global: the kernels take nothing.
#define N 1024
const int T = 32;

__device__ float A[N][N];
__device__ float At[N][N];

__global__ void transposeGlobal()
{
    int col = blockIdx.x * T + threadIdx.x;
    int row = blockIdx.y * T + threadIdx.y;
    At[col][row] = A[row][col];
}

__global__ void transposePadded(void)
{
    __shared__ float tile[T][T + 1];
    tile[threadIdx.y][threadIdx.x] = A[blockIdx.y * T + threadIdx.y][blockIdx.x * T + threadIdx.x];
    __syncthreads();
    At[blockIdx.x * T + threadIdx.y][blockIdx.y * T + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

int main()
{
    transposeGlobal<<<dim3(N / T, N / T), dim3(T, T)>>>();
    transposePadded<<<dim3(N / T, N / T), dim3(T, T)>>>();
    return cudaDeviceSynchronize();
}
