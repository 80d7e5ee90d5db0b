// Blocks that stay, and take the next tile when they have done one.
#define SIDE 16

__global__ void worker(int *next, int *counts, int width, int height, float x0, float y0, float dx, float dy, int limit)
{
    __shared__ int tile;
    const int across = (width + SIDE - 1) / SIDE, tiles = across * ((height + SIDE - 1) / SIDE);
    while (true) {
        if (threadIdx.x == 0 && threadIdx.y == 0)
            tile = (*next)++;
        __syncthreads();
        const int mine = tile;
        __syncthreads();
        if (mine >= tiles)
            return;
        const int i = mine % across * SIDE + threadIdx.x, j = mine / across * SIDE + threadIdx.y;
        if (i >= width || j >= height)
            continue;
        const float cx = x0 + i * dx, cy = y0 + j * dy;
        float x = 0, y = 0;
        int count = 0;
        for (; count < limit && x * x + y * y <= 4; ++count) {
            const float next_x = x * x - y * y + cx;
            y = 2 * x * y + cy;
            x = next_x;
        }
        counts[j * width + i] = count;
    }
}

void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    int *next;
    cudaMalloc(&next, sizeof(int));
    cudaMemset(next, 0, sizeof(int));
    worker<<<4, dim3(SIDE, SIDE)>>>(next, counts, width, height, x0, y0, (x1 - x0) / width, (y1 - y0) / height, limit);
    cudaFree(next);
}
