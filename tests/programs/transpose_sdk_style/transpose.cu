////////////////////////////////////////////////////////////////////////////
//  Matrix transpose: how shared memory and its banks change the bandwidth.
//  Each kernel is timed over NUM_REPS launches; "effective bandwidth" counts
//  one read and one write per element.
////////////////////////////////////////////////////////////////////////////
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <helper_cuda.h>
#include <helper_string.h>

#define TILE_DIM   32
#define BLOCK_ROWS 8
#define NUM_REPS   2

// -------------------------------------------------------
// Copies
// -------------------------------------------------------
__global__ void copy(float *odata, const float *idata, int width, int height)
{
    int xIndex = blockIdx.x * TILE_DIM + threadIdx.x;
    int yIndex = blockIdx.y * TILE_DIM + threadIdx.y;
    int index  = xIndex + width * yIndex;

    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        odata[index + i * width] = idata[index + i * width];
}

__global__ void copySharedMem(float *odata, const float *idata, int width, int height)
{
    __shared__ float tile[TILE_DIM][TILE_DIM];

    int xIndex = blockIdx.x * TILE_DIM + threadIdx.x;
    int yIndex = blockIdx.y * TILE_DIM + threadIdx.y;
    int index  = xIndex + width * yIndex;

    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        if (xIndex < width && yIndex < height)
            tile[threadIdx.y + i][threadIdx.x] = idata[index + i * width];
    __syncthreads();
    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        if (xIndex < height && yIndex < width)
            odata[index + i * width] = tile[threadIdx.y + i][threadIdx.x];
}

// -------------------------------------------------------
// Transposes
// -------------------------------------------------------
__global__ void transposeNaive(float *odata, const float *idata, int width, int height)
{
    int xIndex = blockIdx.x * TILE_DIM + threadIdx.x;
    int yIndex = blockIdx.y * TILE_DIM + threadIdx.y;

    int index_in  = xIndex + width * yIndex;
    int index_out = yIndex + height * xIndex;

    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        odata[index_out + i] = idata[index_in + i * width];
}

__global__ void transposeCoalesced(float *odata, const float *idata, int width, int height)
{
    __shared__ float tile[TILE_DIM][TILE_DIM];

    int xIndex   = blockIdx.x * TILE_DIM + threadIdx.x;
    int yIndex   = blockIdx.y * TILE_DIM + threadIdx.y;
    int index_in = xIndex + (yIndex) * width;

    xIndex        = blockIdx.y * TILE_DIM + threadIdx.x;
    yIndex        = blockIdx.x * TILE_DIM + threadIdx.y;
    int index_out = xIndex + (yIndex) * height;

    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        tile[threadIdx.y + i][threadIdx.x] = idata[index_in + i * width];

    __syncthreads();

    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        odata[index_out + i * height] = tile[threadIdx.x][threadIdx.y + i];
}

__global__ void transposeNoBankConflicts(float *odata, const float *idata, int width, int height)
{
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];

    int xIndex   = blockIdx.x * TILE_DIM + threadIdx.x;
    int yIndex   = blockIdx.y * TILE_DIM + threadIdx.y;
    int index_in = xIndex + (yIndex) * width;

    xIndex        = blockIdx.y * TILE_DIM + threadIdx.x;
    yIndex        = blockIdx.x * TILE_DIM + threadIdx.y;
    int index_out = xIndex + (yIndex) * height;

    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        tile[threadIdx.y + i][threadIdx.x] = idata[index_in + i * width];

    __syncthreads();

    for (int i = 0; i < TILE_DIM; i += BLOCK_ROWS)
        odata[index_out + i * height] = tile[threadIdx.x][threadIdx.y + i];
}

// ---------------------
// host utility routines
// ---------------------
void computeTransposeGold(float *gold, const float *idata, const int size_x, const int size_y)
{
    for (int y = 0; y < size_y; ++y)
        for (int x = 0; x < size_x; ++x)
            gold[(x * size_y) + y] = idata[(y * size_x) + x];
}

static bool compareData(const float *reference, const float *data, int n, float epsilon)
{
    for (int i = 0; i < n; i++) {
        float diff = reference[i] - data[i];
        if (diff > epsilon || diff < -epsilon) {
            printf("first difference at %d: %f instead of %f\n", i, data[i], reference[i]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    int size_x = 128, size_y = 64;

    if (checkCmdLineFlag(argc, (const char **)argv, "dimX"))
        size_x = getCmdLineArgumentInt(argc, (const char **)argv, "dimX");
    if (checkCmdLineFlag(argc, (const char **)argv, "dimY"))
        size_y = getCmdLineArgumentInt(argc, (const char **)argv, "dimY");

    if (size_x % TILE_DIM != 0 || size_y % TILE_DIM != 0) {
        printf("Matrix size must be integral multiple of tile size\nExiting...\n\n");
        exit(EXIT_FAILURE);
    }

    int devID = findCudaDevice(argc, (const char **)argv);
    cudaDeviceProp deviceProp;
    checkCudaErrors(cudaGetDevice(&devID));
    checkCudaErrors(cudaGetDeviceProperties(&deviceProp, devID));
    printf("> Device has %d multiprocessors, compute capability %d.%d\n",
           deviceProp.multiProcessorCount, deviceProp.major, deviceProp.minor);

    // the kernels to be run, in order
    void (*kernel)(float *, const float *, int, int);
    const char *kernelName;

    dim3 grid(size_x / TILE_DIM, size_y / TILE_DIM), threads(TILE_DIM, BLOCK_ROWS);
    if (grid.x < 1 || grid.y < 1) {
        printf("grid size computation incorrect in test\n");
        exit(EXIT_FAILURE);
    }

    cudaEvent_t start, stop;
    const int mem_size = (int)sizeof(float) * size_x * size_y;

    float *h_idata       = (float *)malloc(mem_size);
    float *h_odata       = (float *)malloc(mem_size);
    float *transposeGold = (float *)malloc(mem_size);
    float *gold;

    float *d_idata, *d_odata;
    checkCudaErrors(cudaMalloc((void **)&d_idata, mem_size));
    checkCudaErrors(cudaMalloc((void **)&d_odata, mem_size));

    for (int i = 0; i < (size_x * size_y); ++i)
        h_idata[i] = (float)i;

    checkCudaErrors(cudaMemcpy(d_idata, h_idata, mem_size, cudaMemcpyHostToDevice));
    computeTransposeGold(transposeGold, h_idata, size_x, size_y);
    checkCudaErrors(cudaEventCreate(&start));
    checkCudaErrors(cudaEventCreate(&stop));

    printf("Matrix size: %dx%d (%dx%d tiles), tile size: %dx%d, block size: %dx%d\n\n",
           size_x, size_y, size_x / TILE_DIM, size_y / TILE_DIM, TILE_DIM, TILE_DIM, TILE_DIM, BLOCK_ROWS);

    bool success = true;
    for (int k = 0; k < 4; k++) {
        switch (k) {
        case 0: kernel = &copy; kernelName = "simple copy"; break;
        case 1: kernel = &transposeNaive; kernelName = "naive"; break;
        case 2: kernel = &transposeCoalesced; kernelName = "coalesced"; break;
        default: kernel = &transposeNoBankConflicts; kernelName = "optimized"; break;
        }
        gold = kernel == &copy ? h_idata : transposeGold;

        checkCudaErrors(cudaGetLastError());
        // warm up
        kernel<<<grid, threads>>>(d_odata, d_idata, size_x, size_y);

        checkCudaErrors(cudaEventRecord(start, 0));
        for (int i = 0; i < NUM_REPS; i++) {
            kernel<<<grid, threads>>>(d_odata, d_idata, size_x, size_y);
            checkCudaErrors(cudaGetLastError());
        }
        checkCudaErrors(cudaEventRecord(stop, 0));
        checkCudaErrors(cudaEventSynchronize(stop));
        float kernelTime;
        checkCudaErrors(cudaEventElapsedTime(&kernelTime, start, stop));

        checkCudaErrors(cudaMemcpy(h_odata, d_odata, mem_size, cudaMemcpyDeviceToHost));
        bool res = compareData(gold, h_odata, size_x * size_y, 0.01f);
        if (!res) {
            printf("*** %s kernel FAILED ***\n", kernelName);
            success = false;
        }
        float bandwidth = 2.0f * 1000.0f * mem_size / (1024 * 1024 * 1024) / (kernelTime / NUM_REPS);
        printf("transpose %-12s, Throughput = %.4f GB/s, Time = %.5f ms, Size = %u fp32 elements\n",
               kernelName, bandwidth, kernelTime / NUM_REPS, (size_x * size_y));
    }

    free(h_idata);
    free(h_odata);
    free(transposeGold);
    cudaFree(d_idata);
    cudaFree(d_odata);
    checkCudaErrors(cudaEventDestroy(start));
    checkCudaErrors(cudaEventDestroy(stop));

    if (!success) {
        printf("Test failed!\n");
        exit(EXIT_FAILURE);
    }
    printf("Test passed\n");
    exit(EXIT_SUCCESS);
}
