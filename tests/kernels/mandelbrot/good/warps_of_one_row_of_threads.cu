// Threads are numbered along one axis; a warp of them still takes 8 x 4 points.
__global__ void render(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit, int across)
{
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const int px = warp % across * 8 + lane % 8, py = warp / across * 4 + lane / 8;
    if (px >= width || py >= height)
        return;
    const float a = x0 + (x1 - x0) * px / width, b = y0 + (y1 - y0) * py / height;
    float x = 0, y = 0;
    int k = 0;
    do {
        if (x * x + y * y > 4)
            break;
        const float t = x;
        x = x * x - y * y + a;
        y = fmaf(2 * t, y, b);
    } while (++k < limit);
    counts[py * width + px] = k;
}

void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    const int across = (width + 7) / 8, down = (height + 3) / 4;
    render<<<(across * down + 7) / 8, 256>>>(counts, width, height, x0, y0, x1, y1, limit, across);
}
