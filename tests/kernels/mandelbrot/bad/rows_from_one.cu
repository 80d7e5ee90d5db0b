#define BX 16
#define BY 16

__global__ void mandel(int *counts, int width, int height, float x0, float y0, float dx, float dy, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = x0 + i * dx;
    float cy = y0 + j * dy;
    float x = 0, y = 0;
    int count = 0;
    while (x * x + y * y <= 4 && count < limit) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        count++;
    }
    if (i < width && j < height)
        counts[(j + 1) * width + i] = count;
}

void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    dim3 block(BX, BY);
    dim3 grid((width + BX - 1) / BX, (height + BY - 1) / BY);
    mandel<<<grid, block>>>(counts, width, height, x0, y0, (x1 - x0) / width, (y1 - y0) / height, limit);
}
