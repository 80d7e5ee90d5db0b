// transpose_bench: compares transpose kernels over a list of sizes and writes a CSV table.
//
//   ./transpose_bench [-r ROWS] [-c COLS] [-n REPEATS] [-k all|copy|naive|tiled|nobank] [-o FILE] [--check] [--help]
//
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace bench {

enum { kTile = 32, kRows = 8 };

struct Options {
    int rows = 96;
    int cols = 160;
    int repeats = 3;
    std::string kernel = "all";
    std::string output;
    bool check = true;
    bool help = false;
};

struct Timing {
    float best_ms;
    float mean_ms;
    double gigabytes_per_second;
};

// ---- functors: what happens to an element on its way ----------------------------------------------------------
struct Identity {
    __device__ __forceinline__ float operator()(float x) const { return x; }
};

// ---- kernels --------------------------------------------------------------------------------------------------
template <typename Op>
__global__ void copyKernel(float* __restrict__ dst, const float* __restrict__ src, int width, int height, Op op)
{
    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile && y + j < height; j += kRows)
        if (x < width)
            dst[(y + j) * width + x] = op(src[(y + j) * width + x]);
}

template <typename Op>
__global__ void transposeSimple(float* __restrict__ dst, const float* __restrict__ src, int width, int height, Op op)
{
    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;
    for (int j = 0; j < kTile && y + j < height; j += kRows)
        if (x < width)
            dst[x * height + y + j] = op(src[(y + j) * width + x]);
}

template <int Pad, typename Op>
__global__ void transposeTiled(float* __restrict__ dst, const float* __restrict__ src, int width, int height, Op op)
{
    __shared__ float tile[kTile][kTile + Pad];

    int x = blockIdx.x * kTile + threadIdx.x;
    int y = blockIdx.y * kTile + threadIdx.y;
    if (x < width)
        for (int j = 0; j < kTile && y + j < height; j += kRows)
            tile[threadIdx.y + j][threadIdx.x] = op(src[(y + j) * width + x]);
    __syncthreads();

    x = blockIdx.y * kTile + threadIdx.x;
    y = blockIdx.x * kTile + threadIdx.y;
    if (x < height)
        for (int j = 0; j < kTile && y + j < width; j += kRows)
            dst[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// ---- the table of what is measured ----------------------------------------------------------------------------
typedef void (*Launcher)(dim3 grid, dim3 block, float* dst, const float* src, int width, int height);

void launchCopy(dim3 g, dim3 b, float* dst, const float* src, int w, int h)
{
    copyKernel<<<g, b>>>(dst, src, w, h, Identity());
}

void launchSimple(dim3 g, dim3 b, float* dst, const float* src, int w, int h)
{
    transposeSimple<<<g, b>>>(dst, src, w, h, Identity());
}

template <int Pad>
void launchTiled(dim3 g, dim3 b, float* dst, const float* src, int w, int h)
{
    transposeTiled<Pad><<<g, b>>>(dst, src, w, h, Identity{});
}

struct Entry {
    const char* key;
    const char* title;
    Launcher launch;
    bool transposes;
};

const Entry kEntries[] = {
    {"copy", "plain copy", launchCopy, false},
    {"naive", "transpose, no shared memory", launchSimple, true},
    {"tiled", "transpose, shared memory", launchTiled<0>, true},
    {"nobank", "transpose, shared memory, no bank conflicts", launchTiled<1>, true},
};

// ---- helpers --------------------------------------------------------------------------------------------------
inline void check(cudaError_t status, const char* what, int line)
{
    if (status == cudaSuccess)
        return;
    std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
}
#define CHECK(x) ::bench::check((x), #x, __LINE__)

bool parse(int argc, char** argv, Options& o)
{
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        auto value = [&]() -> const char* { return i + 1 < argc ? argv[++i] : ""; };
        if (word == "-r" || word == "--rows")
            o.rows = std::atoi(value());
        else if (word == "-c" || word == "--cols")
            o.cols = std::atoi(value());
        else if (word == "-n")
            o.repeats = std::max(1, std::atoi(value()));
        else if (word == "-k")
            o.kernel = value();
        else if (word == "-o")
            o.output = value();
        else if (word == "--no-check")
            o.check = false;
        else if (word == "-h" || word == "--help")
            o.help = true;
        else {
            std::fprintf(stderr, "unknown option %s\n", word.c_str());
            return false;
        }
    }
    return o.rows > 0 && o.cols > 0;
}

Timing measure(const Entry& entry, float* dst, const float* src, const Options& o)
{
    const dim3 block{kTile, kRows};
    const dim3 grid{unsigned(o.cols + kTile - 1) / kTile, unsigned(o.rows + kTile - 1) / kTile};
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    std::vector<float> times;
    for (int i = 0; i < o.repeats; ++i) {
        float ms;
        CHECK(cudaEventRecord(start));
        entry.launch(grid, block, dst, src, o.cols, o.rows);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        CHECK(cudaEventElapsedTime(&ms, start, stop));
        times.push_back(ms);
    }
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    Timing t{*std::min_element(times.begin(), times.end()), 0.0f, 0.0};
    for (float ms : times)
        t.mean_ms += ms / times.size();
    t.gigabytes_per_second = 2.0 * o.rows * o.cols * sizeof(float) / (t.best_ms * 1e6);
    return t;
}

bool right(const Entry& entry, const std::vector<float>& in, const std::vector<float>& out, const Options& o)
{
    for (int r = 0; r < o.rows; ++r)
        for (int c = 0; c < o.cols; ++c) {
            const float wanted = in[size_t(r) * o.cols + c];
            const float got = entry.transposes ? out[size_t(c) * o.rows + r] : out[size_t(r) * o.cols + c];
            if (wanted != got)
                return false;
        }
    return true;
}

} // namespace bench

int main(int argc, char** argv)
{
    using namespace bench;
    Options options;
    if (!parse(argc, argv, options) || options.help) {
        std::printf("usage: %s [-r ROWS] [-c COLS] [-n REPEATS] [-k KERNEL] [-o FILE] [--no-check]\n", argv[0]);
        return options.help ? 0 : 2;
    }
    const size_t count = size_t(options.rows) * options.cols;
    std::vector<float> in(count), out(count);
    for (size_t i = 0; i < count; ++i)
        in[i] = float((i * 7919) % 10007);

    float *src = nullptr, *dst = nullptr;
    CHECK(cudaMalloc(&src, count * sizeof(float)));
    CHECK(cudaMalloc(&dst, count * sizeof(float)));
    CHECK(cudaMemcpy(src, in.data(), count * sizeof(float), cudaMemcpyHostToDevice));

    FILE* csv = options.output.empty() ? nullptr : std::fopen(options.output.c_str(), "w");
    if (csv)
        std::fprintf(csv, "kernel,rows,cols,best_ms,mean_ms,gbps\n");
    int wrong = 0;
    for (const Entry& entry : kEntries) {
        if (options.kernel != "all" && options.kernel != entry.key)
            continue;
        CHECK(cudaMemset(dst, 0, count * sizeof(float)));
        const Timing t = measure(entry, dst, src, options);
        CHECK(cudaMemcpy(out.data(), dst, count * sizeof(float), cudaMemcpyDeviceToHost));
        const bool ok = !options.check || right(entry, in, out, options);
        wrong += !ok;
        std::printf("%-45s %s\n", entry.title, ok ? "ok" : "WRONG");
        if (csv)
            std::fprintf(csv, "%s,%d,%d,%.4f,%.4f,%.2f\n", entry.key, options.rows, options.cols, t.best_ms, t.mean_ms,
                         t.gigabytes_per_second);
    }
    if (csv)
        std::fclose(csv);
    CHECK(cudaFree(src));
    CHECK(cudaFree(dst));
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
