__global__ void rows(int *counts, int width, int height, float x0, float y0, float dx, float dy, int limit)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= height)
        return;
    for (int i = 0; i < width; i++) {
        float cx = x0 + i * dx, cy = y0 + j * dy;
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
}

void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    rows<<<(height + 63) / 64, 64>>>(counts, width, height, x0, y0, (x1 - x0) / width, (y1 - y0) / height, limit);
}
