// Three planes, each blurred by itself, put together again by the host.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                    \
    do {                                                                               \
        cudaError_t status = (call);                                                   \
        if (status != cudaSuccess) {                                                   \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));    \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

std::vector<unsigned char> read_picture(const char *name, int &width, int &height)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL || fscanf(file, "P6 %d %d 255", &width, &height) != 2) {
        fprintf(stderr, "%s is no picture\n", name);
        exit(1);
    }
    fgetc(file);
    std::vector<unsigned char> pixels(3 * (size_t)width * height);
    if (fread(pixels.data(), 1, pixels.size(), file) != pixels.size()) {
        fprintf(stderr, "%s is too short\n", name);
        exit(1);
    }
    fclose(file);
    return pixels;
}

// channels: 1 for shades of grey, 3 for colours.
void write_picture(const char *name, const std::vector<unsigned char> &pixels, int width, int height, int channels)
{
    FILE *file = fopen(name, "wb");
    if (file == NULL) {
        fprintf(stderr, "%s cannot be written\n", name);
        exit(1);
    }
    fprintf(file, "P%c\n%d %d\n255\n", channels == 1 ? '5' : '6', width, height);
    fwrite(pixels.data(), 1, pixels.size(), file);
    fclose(file);
}

__global__ void to_grey(const unsigned char *r, const unsigned char *g, const unsigned char *b, unsigned char *grey, int n)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n)
        grey[k] = (unsigned char)(0.299f * r[k] + 0.587f * g[k] + 0.114f * b[k] + 0.5f);
}

__global__ void blur_plane(const unsigned char *in, unsigned char *out, int width, int height, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0;
    int count = 0;
    for (int j = max(y - radius, 0); j <= min(y + radius, height - 1); ++j)
        for (int i = max(x - radius, 0); i <= min(x + radius, width - 1); ++i, ++count)
            sum += in[j * width + i];
    out[y * width + x] = (unsigned char)(sum / count + 0.5f);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s in.ppm grey.pgm blur.ppm radius\n", argv[0]);
        return 1;
    }
    int width, height;
    const int radius = atoi(argv[4]);
    std::vector<unsigned char> in = read_picture(argv[1], width, height);
    std::vector<unsigned char> grey(in.size() / 3), blurred(in.size());

    const int n = width * height;
    std::vector<unsigned char> plane(n);
    unsigned char *d_plane[3], *d_out, *d_grey;
    CHECK(cudaMalloc(&d_out, n));
    CHECK(cudaMalloc(&d_grey, n));
    for (int c = 0; c < 3; ++c) {
        for (int k = 0; k < n; ++k)
            plane[k] = in[3 * k + c];
        CHECK(cudaMalloc(&d_plane[c], n));
        CHECK(cudaMemcpy(d_plane[c], plane.data(), n, cudaMemcpyHostToDevice));
    }
    to_grey<<<(n + 255) / 256, 256>>>(d_plane[0], d_plane[1], d_plane[2], d_grey, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(grey.data(), d_grey, n, cudaMemcpyDeviceToHost));
    dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
    for (int c = 0; c < 3; ++c) {
        blur_plane<<<grid, block>>>(d_plane[c], d_out, width, height, radius);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(plane.data(), d_out, n, cudaMemcpyDeviceToHost));
        for (int k = 0; k < n; ++k)
            blurred[3 * k + c] = plane[k];
        CHECK(cudaFree(d_plane[c]));
    }
    CHECK(cudaFree(d_out));
    CHECK(cudaFree(d_grey));

    write_picture(argv[2], grey, width, height, 1);
    write_picture(argv[3], blurred, width, height, 3);
    return 0;
}
