// The mask is a struct that is passed by value.
#include <cstring>

#define BX 16
#define BY 16
#define TX (BX + 4)
#define TY (BY + 4)

struct Mask {
    float weights[5][5];
};

__global__ void convolve(const float *in, float *out, int rows, int cols, Mask mask) {
    __shared__ float tile[TY][TX];
    int left = blockIdx.x * BX - 2, top = blockIdx.y * BY - 2;
    for (int k = threadIdx.y * BX + threadIdx.x; k < TX * TY; k += BX * BY) {
        int y = top + k / TX, x = left + k % TX;
        tile[k / TX][k % TX] = y >= 0 && y < rows && x >= 0 && x < cols ? in[y * cols + x] : 0.0f;
    }
    __syncthreads();
    int c = blockIdx.x * BX + threadIdx.x, r = blockIdx.y * BY + threadIdx.y;
    if (r < rows && c < cols) {
        float sum = 0;
        for (int i = 0; i < 5; ++i) {
            for (int j = 0; j < 5; ++j) sum += mask.weights[i][j] * tile[threadIdx.y + i][threadIdx.x + j];
        }
        out[r * cols + c] = sum;
    }
}

void solve(const float *in, const float *mask, float *out, int rows, int cols) {
    size_t bytes = (size_t)rows * cols * sizeof(float);
    float *d_in, *d_out;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemcpy(d_in, in, bytes, cudaMemcpyHostToDevice);
    Mask by_value;
    memcpy(&by_value, mask, sizeof(by_value));
    dim3 block(BX, BY), grid((cols + BX - 1) / BX, (rows + BY - 1) / BY);
    convolve<<<grid, block>>>(d_in, d_out, rows, cols, by_value);
    cudaMemcpy(out, d_out, bytes, cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
}
