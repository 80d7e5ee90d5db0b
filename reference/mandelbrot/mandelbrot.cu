// A warp computes 8 × 4 points, which are likelier to need as many steps as one another than 32 in a row; eight counts in a
// row are a whole sector. Squares are kept from the test for the next step.
#define COLS 8
#define ROWS 16

__global__ void __launch_bounds__(COLS * ROWS)
    mandelbrot(int *counts, int width, int height, float x0, float y0, float dx, float dy, int limit)
{
    const int col = blockIdx.x * COLS + threadIdx.x;
    const int row = blockIdx.y * ROWS + threadIdx.y;
    if (col >= width || row >= height)
        return;
    const float cx = x0 + col * dx, cy = y0 + row * dy;
    float x = 0, y = 0, xx = 0, yy = 0;
    int step = 0;
    while (step < limit && xx + yy <= 4) {
        y = 2 * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
        ++step;
    }
    counts[row * width + col] = step;
}

void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    const dim3 block(COLS, ROWS), grid((width + COLS - 1) / COLS, (height + ROWS - 1) / ROWS);
    mandelbrot<<<grid, block>>>(counts, width, height, x0, y0, (x1 - x0) / width, (y1 - y0) / height, limit);
}
