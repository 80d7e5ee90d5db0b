#include <vector>

void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    std::vector<int> result(width * height);
    for (int j = 0; j < height; j++) {
        for (int i = 0; i < width; i++) {
            float cx = x0 + i * ((x1 - x0) / width), cy = y0 + j * ((y1 - y0) / height);
            float x = 0, y = 0;
            int k = 0;
            for (; k < limit && x * x + y * y <= 4; k++) {
                float next = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = next;
            }
            result[j * width + i] = k;
        }
    }
    cudaMemcpy(counts, result.data(), result.size() * sizeof(int), cudaMemcpyHostToDevice);
}
