// ./image in.ppm grey.pgm blur.ppm radius
// Write the kernels, their launches and the copies.  Build with:  nvcc -o image starter.cu
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
}

__global__ void blur(const unsigned char *in, unsigned char *out, int width, int height, int radius)
{
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

    // Here the work is done on the device.

    write_picture(argv[2], grey, width, height, 1);
    write_picture(argv[3], blurred, width, height, 3);
    return 0;
}
