// Rows of a padded array are copied with the width of a quarter of a row: bytes where elements are counted.
#include <cstdio>

__global__ void twice(const float *in, float *out, int width, int pitch) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width) out[y * width + x] = 2 * in[y * pitch + x];
}

int main() {
    const int width = 20, pitch = 24, height = 48;
    float host[width * height], back[width * height], *in, *out;
    for (int i = 0; i < width * height; i++) host[i] = i;
    cudaMalloc(&in, pitch * height * sizeof(float));
    cudaMalloc(&out, sizeof host);
    cudaMemcpy2D(in, pitch * sizeof(float), host, width * sizeof(float), width, height, cudaMemcpyHostToDevice);
    twice<<<height, 32>>>(in, out, width, pitch);
    cudaMemcpy(back, out, sizeof host, cudaMemcpyDeviceToHost);
    printf("%g %g\n", back[0], back[4]);
    cudaFree(in);
    cudaFree(out);
    return 0;
}
