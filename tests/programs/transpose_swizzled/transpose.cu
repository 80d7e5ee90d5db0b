//
// Layout of the tile: the element of row r and column c is kept in column c ^ r of row r.
//
//   - a warp that stores a row writes 32 different columns of one row: no two in one bank;
//   - a warp that reads a column reads column c ^ r of row r for r = 0 ... 31, which are 32 different banks.
//
// Padding by one column does the same with 128 bytes more; both are compared in the report.
//
// Bank conflicts avoided without padding: columns of the tile are exchanged by xor.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define TILE 32
#define ROWS 8

#define cudaOk(call)                                                                    \
    do {                                                                                \
        const cudaError_t result = (call);                                              \
        if (result != cudaSuccess) {                                                    \
            std::fprintf(stderr, "%s(%d): %s -> %s\n", __FILE__, __LINE__, #call,       \
                         cudaGetErrorString(result));                                   \
            std::abort();                                                               \
        }                                                                               \
    } while (false)

using Element = unsigned int;

__global__ void transposeBase(const Element *__restrict__ src, Element *__restrict__ dst, int rows, int cols)
{
    const int x = blockIdx.x * TILE + threadIdx.x;
    const int y0 = blockIdx.y * TILE + threadIdx.y;

    if (x >= cols)
        return;
    for (int y = y0; y < min(rows, (int)blockIdx.y * TILE + TILE); y += ROWS)
        dst[x * rows + y] = src[y * cols + x];
}

__global__ void transposeTile(const Element *__restrict__ src, Element *__restrict__ dst, int rows, int cols)
{
    __shared__ Element tile[TILE][TILE];

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < cols && y + j < rows)
            tile[threadIdx.y + j][threadIdx.x] = src[(y + j) * cols + x];

    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < rows && y + j < cols)
            dst[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void transposeOptim(const Element *__restrict__ src, Element *__restrict__ dst, int rows, int cols)
{
    __shared__ Element tile[TILE][TILE];

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < cols && y + j < rows)
            tile[threadIdx.y + j][threadIdx.x ^ (threadIdx.y + j)] = src[(y + j) * cols + x];

    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < rows && y + j < cols)
            dst[(y + j) * rows + x] = tile[threadIdx.x][(threadIdx.y + j) ^ threadIdx.x];
}

class Timer
{
public:
    Timer()
    {
        cudaOk(cudaEventCreate(&start));
        cudaOk(cudaEventCreate(&stop));
    }
    ~Timer()
    {
        cudaEventDestroy(start);
        cudaEventDestroy(stop);
    }
    void begin()
    {
        cudaOk(cudaEventRecord(start));
    }
    float end()
    {
        float ms = 0;
        cudaOk(cudaEventRecord(stop));
        cudaOk(cudaEventSynchronize(stop));
        cudaOk(cudaEventElapsedTime(&ms, start, stop));
        return ms;
    }

private:
    cudaEvent_t start{}, stop{};
};

struct Size
{
    int rows, cols;
};

struct Outcome
{
    std::string name;
    float ms;
    int wrong;
};

enum class Version
{
    base,
    tile,
    optim
};

static const char *nameOf(Version version)
{
    switch (version)
    {
    case Version::base:
        return "base";
    case Version::tile:
        return "tile";
    default:
        return "optim";
    }
}

static Outcome run(Version version, Size size, const Element *src, Element *dst, const std::vector<Element> &host)
{
    const dim3 block(TILE, ROWS, 1);
    const dim3 grid((size.cols + TILE - 1) / TILE, (size.rows + TILE - 1) / TILE, 1);
    std::vector<Element> back(host.size());
    Timer timer;

    cudaOk(cudaMemset(dst, 0xEE, host.size() * sizeof(Element)));
    timer.begin();
    switch (version)
    {
    case Version::base:
        transposeBase<<<grid, block>>>(src, dst, size.rows, size.cols);
        break;
    case Version::tile:
        transposeTile<<<grid, block>>>(src, dst, size.rows, size.cols);
        break;
    case Version::optim:
        transposeOptim<<<grid, block>>>(src, dst, size.rows, size.cols);
        break;
    }
    cudaOk(cudaGetLastError());
    const float ms = timer.end();
    cudaOk(cudaMemcpy(back.data(), dst, back.size() * sizeof(Element), cudaMemcpyDeviceToHost));

    int wrong = 0;
    for (int r = 0; r < size.rows; ++r)
        for (int c = 0; c < size.cols; ++c)
            wrong += back[c * size.rows + r] != host[r * size.cols + c];
    return {nameOf(version), ms, wrong};
}

int main()
{
    const Size sizes[] = {{64, 64}, {96, 32}, {45, 77}};
    int total = 0;

    for (const Size &size : sizes)
    {
        std::vector<Element> host(size.rows * size.cols);
        for (std::size_t i = 0; i < host.size(); ++i)
            host[i] = static_cast<Element>(i * 2654435761u);

        Element *src = nullptr, *dst = nullptr;
        cudaOk(cudaMalloc(&src, host.size() * sizeof(Element)));
        cudaOk(cudaMalloc(&dst, host.size() * sizeof(Element)));
        cudaOk(cudaMemcpy(src, host.data(), host.size() * sizeof(Element), cudaMemcpyHostToDevice));

        for (Version version : {Version::base, Version::tile, Version::optim})
        {
            const Outcome outcome = run(version, size, src, dst, host);
            std::printf("%3d x %3d %-6s %s\n", size.rows, size.cols, outcome.name.c_str(), outcome.wrong ? "FAIL" : "ok");
            total += outcome.wrong;
            if (outcome.ms < 0)
                std::printf("negative time\n");
        }
        cudaOk(cudaFree(src));
        cudaOk(cudaFree(dst));
    }
    return total ? EXIT_FAILURE : EXIT_SUCCESS;
}
