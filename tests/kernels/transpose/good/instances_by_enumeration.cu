// One template is all variants: an enumeration's values say which.
namespace lab {
enum class Mode { direct, staged, staged_padded };

template <Mode M, class T, int TILE = 32, int ROWS = TILE / 4>
__global__ void transpose(T *to, const T *from, unsigned height, unsigned width)
{
    unsigned c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
    if constexpr (M == Mode::direct) {
        for (unsigned k = 0; k < TILE; k += ROWS)
            if (c < width && r + k < height)
                to[c * height + r + k] = from[(r + k) * width + c];
    } else {
        __shared__ T tile[TILE][TILE + (M == Mode::staged_padded ? 1 : 0)];
        for (unsigned k = 0; k < TILE; k += ROWS)
            if (c < width && r + k < height)
                tile[threadIdx.y + k][threadIdx.x] = from[(r + k) * width + c];
        __syncthreads();
        c = blockIdx.y * TILE + threadIdx.x;
        r = blockIdx.x * TILE + threadIdx.y;
        for (unsigned k = 0; k < TILE; k += ROWS)
            if (c < height && r + k < width)
                to[(r + k) * height + c] = tile[threadIdx.x][threadIdx.y + k];
    }
}
}

int main()
{
    using namespace lab;
    const unsigned height = 200, width = 100;
    float *from, *to;
    cudaMalloc(&from, height * width * sizeof(float));
    cudaMalloc(&to, height * width * sizeof(float));
    dim3 block(32, 8), grid((width + 31) / 32, (height + 31) / 32);
    transpose<Mode::direct, float><<<grid, block>>>(to, from, height, width);
    transpose<Mode::staged, float><<<grid, block>>>(to, from, height, width);
    transpose<Mode::staged_padded, float><<<grid, block>>>(to, from, height, width);
}
