// The picture goes to the device once more before the second kernel.
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

__global__ void to_grey(const unsigned char *in, unsigned char *grey, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        const unsigned char *pixel = in + 3 * (y * width + x);
        grey[y * width + x] = (unsigned char)(0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2] + 0.5f);
    }
}

__global__ void blur(const unsigned char *in, unsigned char *out, int width, int height, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int sum[3] = {0, 0, 0}, count = 0;
    for (int j = max(y - radius, 0); j <= min(y + radius, height - 1); ++j)
        for (int i = max(x - radius, 0); i <= min(x + radius, width - 1); ++i) {
            for (int c = 0; c < 3; ++c)
                sum[c] += in[3 * (j * width + i) + c];
            ++count;
        }
    for (int c = 0; c < 3; ++c)
        out[3 * (y * width + x) + c] = (sum[c] + count / 2) / count;
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

    unsigned char *d_in, *d_grey, *d_blur;
    CHECK(cudaMalloc(&d_in, in.size()));
    CHECK(cudaMalloc(&d_grey, grey.size()));
    CHECK(cudaMalloc(&d_blur, blurred.size()));
    CHECK(cudaMemcpy(d_in, in.data(), in.size(), cudaMemcpyHostToDevice));

    dim3 block(32, 8);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    to_grey<<<grid, block>>>(d_in, d_grey, width, height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(d_in, in.data(), in.size(), cudaMemcpyHostToDevice));
    blur<<<grid, block>>>(d_in, d_blur, width, height, radius);
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(grey.data(), d_grey, grey.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(blurred.data(), d_blur, blurred.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_in));
    CHECK(cudaFree(d_grey));
    CHECK(cudaFree(d_blur));

    write_picture(argv[2], grey, width, height, 1);
    write_picture(argv[3], blurred, width, height, 3);
    return 0;
}
