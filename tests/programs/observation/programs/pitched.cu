// Rows begin where cudaMallocPitch puts them: the kernels are handed how far apart that is, in bytes.
#include <cstdio>
#include <vector>

const int T = 32;

__device__ const float *at(const float *from, size_t pitch, int row)
{
    return (const float *)((const char *)from + row * pitch);
}

__global__ void plain(const float *in, size_t pitch_in, float *out, size_t pitch_out, int rows, int cols)
{
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    if (x < cols && y < rows)
        *((float *)((char *)out + x * pitch_out) + y) = at(in, pitch_in, y)[x];
}

__global__ void padded(const float *in, size_t pitch_in, float *out, size_t pitch_out, int rows, int cols)
{
    __shared__ float tile[T][T + 1];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    if (x < cols && y < rows)
        tile[threadIdx.y][threadIdx.x] = at(in, pitch_in, y)[x];
    __syncthreads();
    x = blockIdx.y * T + threadIdx.x;
    y = blockIdx.x * T + threadIdx.y;
    if (x < rows && y < cols)
        *((float *)((char *)out + y * pitch_out) + x) = tile[threadIdx.x][threadIdx.y];
}

int main()
{
    int rows = 300, cols = 200;
    std::vector<float> data(rows * cols), back(rows * cols);
    for (int i = 0; i < rows * cols; ++i)
        data[i] = i;
    float *in, *out;
    size_t pitch_in, pitch_out;
    cudaMallocPitch(&in, &pitch_in, cols * sizeof(float), rows);
    cudaMallocPitch(&out, &pitch_out, rows * sizeof(float), cols);
    cudaMemcpy2D(in, pitch_in, data.data(), cols * 4, cols * 4, rows, cudaMemcpyHostToDevice);
    dim3 block(T, T), grid((cols + T - 1) / T, (rows + T - 1) / T);
    plain<<<grid, block>>>(in, pitch_in, out, pitch_out, rows, cols);
    cudaMemcpy2D(back.data(), rows * 4, out, pitch_out, rows * 4, cols, cudaMemcpyDeviceToHost);
    padded<<<grid, block>>>(in, pitch_in, out, pitch_out, rows, cols);
    cudaMemcpy2D(back.data(), rows * 4, out, pitch_out, rows * 4, cols, cudaMemcpyDeviceToHost);
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c)
            if (back[c * rows + r] != data[r * cols + c])
                return printf("wrong\n");
}
