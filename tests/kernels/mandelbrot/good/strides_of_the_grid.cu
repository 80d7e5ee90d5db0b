__global__ void fractal(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    for (int j = blockIdx.y * blockDim.y + threadIdx.y; j < height; j += gridDim.y * blockDim.y) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < width; i += gridDim.x * blockDim.x) {
            float cr = x0 + i * ((x1 - x0) / width), ci = y0 + j * ((y1 - y0) / height);
            float zr = 0.0f, zi = 0.0f;
            int k;
            for (k = 0; k < limit; k++) {
                float rr = zr * zr, ii = zi * zi;
                if (rr + ii > 4.0f)
                    break;
                zi = 2.0f * zr * zi + ci;
                zr = rr - ii + cr;
            }
            counts[j * width + i] = k;
        }
    }
}

void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    fractal<<<dim3(2, 3), dim3(8, 32)>>>(counts, width, height, x0, y0, x1, y1, limit);
}
