// The points of the cardioid and of the disc left of it never escape: a formula tells them.
__device__ bool never_escapes(float x, float y)
{
    float a = x - 0.25f, q = a * a + y * y;
    return q * (q + a) <= 0.25f * y * y || (x + 1) * (x + 1) + y * y <= 0.0625f;
}

__global__ void mandel(int *counts, int width, int height, float x0, float y0, float dx, float dy, int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= width || j >= height)
        return;
    float cx = x0 + i * dx;
    float cy = y0 + j * dy;
    int count = 0;
    if (never_escapes(cx, cy)) {
        count = limit;
    } else {
        float x = 0, y = 0, xx = 0, yy = 0;
        while (xx + yy <= 4 && count < limit) {
            y = 2 * x * y + cy;
            x = xx - yy + cx;
            xx = x * x;
            yy = y * y;
            count++;
        }
    }
    counts[j * width + i] = count;
}

void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    dim3 block(32, 4);
    dim3 grid((width + 31) / 32, (height + 3) / 4);
    mandel<<<grid, block>>>(counts, width, height, x0, y0, (x1 - x0) / width, (y1 - y0) / height, limit);
}
