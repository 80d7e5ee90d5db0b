// Lanes exchange their values before they store: a quad hands four floats to one of its lanes at a time.
__global__ void transpose_padded(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    if (r < rows && c < cols)
        tile[threadIdx.y][threadIdx.x] = in[r * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    const float mine = tile[threadIdx.x][threadIdx.y];
    if (rows % 4) {
        if (r < cols && c < rows)
            out[r * rows + c] = mine;
        return;
    }
    float4 four;
    const int first = threadIdx.x & ~3;
    four.x = __shfl_sync(0xffffffff, mine, first);
    four.y = __shfl_sync(0xffffffff, mine, first + 1);
    four.z = __shfl_sync(0xffffffff, mine, first + 2);
    four.w = __shfl_sync(0xffffffff, mine, first + 3);
    if (threadIdx.x % 4 == 0 && r < cols && c < rows)
        *(float4 *)(out + r * rows + c) = four;
}
