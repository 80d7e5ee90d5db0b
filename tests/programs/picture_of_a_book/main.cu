// A program of the introduction's kind: a picture that is shown, by headers of its own folder for all examples.
#include "../common/book.h"
#include "../common/cpu_bitmap.h"

#define DIM 64

struct DataBlock {
    unsigned char *dev_bitmap;
};

__global__ void kernel(unsigned char *ptr) {
    int x = blockIdx.x, y = blockIdx.y;
    int offset = x + y * gridDim.x;
    ptr[offset * 4 + 0] = 4 * x;
    ptr[offset * 4 + 1] = 4 * y;
    ptr[offset * 4 + 2] = 0;
    ptr[offset * 4 + 3] = 255;
}

void closed(void *data) {
    HANDLE_ERROR(cudaFree(((DataBlock *)data)->dev_bitmap));
    FILE *file = fopen("bitmap.ppm", "rb");
    int width, height, most;
    fscanf(file, "P6 %d %d %d", &width, &height, &most);
    fgetc(file);
    printf("closed: %d x %d, first %d", width, height, fgetc(file));
    printf(" %d\n", fgetc(file));
    fclose(file);
}

int main(void) {
    DataBlock data;
    CPUBitmap bitmap(DIM, DIM, &data);
    int a = 1, b = 2;
    swap(a, b);
    printf("%d %d\n", a, b);
    HANDLE_ERROR(cudaMalloc((void **)&data.dev_bitmap, bitmap.image_size()));
    dim3 grid(DIM, DIM);
    kernel<<<grid, 1>>>(data.dev_bitmap);
    HANDLE_ERROR(cudaMemcpy(bitmap.get_ptr(), data.dev_bitmap, bitmap.image_size(), cudaMemcpyDeviceToHost));
    bitmap.display_and_exit(closed);
    printf("never\n");
}
