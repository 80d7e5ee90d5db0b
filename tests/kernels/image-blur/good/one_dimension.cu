// One index for all pixels, threads that go on with what the grid leaves over.
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

__global__ void to_grey(const uchar3 *in, unsigned char *grey, int count)
{
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < count; k += gridDim.x * blockDim.x)
        grey[k] = (299 * in[k].x + 587 * in[k].y + 114 * in[k].z) / 1000;
}

__global__ void blur(const uchar3 *in, uchar3 *out, int width, int height, int radius)
{
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < width * height; k += gridDim.x * blockDim.x) {
        int x = k % width, y = k / width;
        float3 sum = make_float3(0, 0, 0);
        int count = 0;
        for (int dy = -radius; dy <= radius; ++dy)
            for (int dx = -radius; dx <= radius; ++dx) {
                int i = x + dx, j = y + dy;
                if (i < 0 || j < 0 || i >= width || j >= height)
                    continue;
                uchar3 p = in[j * width + i];
                sum.x += p.x;
                sum.y += p.y;
                sum.z += p.z;
                ++count;
            }
        out[k] = make_uchar3(sum.x / count + 0.5f, sum.y / count + 0.5f, sum.z / count + 0.5f);
    }
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

    uchar3 *d_in, *d_blur;
    unsigned char *d_grey;
    CHECK(cudaMalloc(&d_in, in.size()));
    CHECK(cudaMalloc(&d_grey, grey.size()));
    CHECK(cudaMalloc(&d_blur, blurred.size()));
    CHECK(cudaMemcpy(d_in, in.data(), in.size(), cudaMemcpyHostToDevice));

    to_grey<<<8, 128>>>(d_in, d_grey, width * height);
    CHECK(cudaGetLastError());
    blur<<<8, 128>>>(d_in, d_blur, width, height, radius);
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
