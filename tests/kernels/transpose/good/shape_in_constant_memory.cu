// The sizes are fields of a struct in constant memory; the pitch of a dynamic tile has a name.
typedef struct { int rows, cols; } Shape;
__constant__ Shape shape;

__device__ int column() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ int row() { return blockIdx.y * blockDim.y + threadIdx.y; }

__global__ void basic(float *out, const float *in)
{
    if (row() < shape.rows && column() < shape.cols)
        out[column() * shape.rows + row()] = in[row() * shape.cols + column()];
}

template <int EXTRA> __device__ void through(float *tile, float *out, const float *in)
{
    const int pitch = blockDim.x + EXTRA;
    int c = blockIdx.y * blockDim.y + threadIdx.x, r = blockIdx.x * blockDim.x + threadIdx.y;
    if (row() < shape.rows && column() < shape.cols)
        tile[threadIdx.y * pitch + threadIdx.x] = in[row() * shape.cols + column()];
    __syncthreads();
    if (r < shape.cols && c < shape.rows)
        out[r * shape.rows + c] = tile[threadIdx.x * pitch + threadIdx.y];
}

__global__ void tile(float *out, const float *in)
{
    extern __shared__ float memory[];
    through<0>(memory, out, in);
}

__global__ void fast(float *out, const float *in)
{
    extern __shared__ float memory[];
    through<1>(memory, out, in);
}

int main()
{
    Shape s = {96, 160};
    float *in, *out, *data = new float[s.rows * s.cols];
    for (int i = 0; i < s.rows * s.cols; ++i)
        data[i] = i;
    cudaMalloc(&in, s.rows * s.cols * sizeof(float));
    cudaMalloc(&out, s.rows * s.cols * sizeof(float));
    cudaMemcpyToSymbol(shape, &s, sizeof s);
    cudaMemcpy(in, data, s.rows * s.cols * sizeof(float), cudaMemcpyHostToDevice);
    dim3 threads(32, 32), blocks((s.cols + 31) / 32, (s.rows + 31) / 32);
    basic<<<blocks, threads>>>(out, in);
    tile<<<blocks, threads, 32 * 32 * sizeof(float)>>>(out, in);
    fast<<<blocks, threads, 32 * 33 * sizeof(float)>>>(out, in);
    cudaMemcpy(data, out, s.rows * s.cols * sizeof(float), cudaMemcpyDeviceToHost);
}
