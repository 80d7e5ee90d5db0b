// Several signals are smoothed one after another; copies of one overlap with the kernel of another.
#include "Buffer.h"

#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

constexpr int kThreads = 128;

// Mean of 2r + 1 neighbours; elements without all of them stay as they are.
__global__ void smoothGlobal(const float *__restrict__ signal, float *__restrict__ smoothed, int length, int r)
{
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= length)
        return;
    if (i < r || i + r >= length) {
        smoothed[i] = signal[i];
        return;
    }
    float total = 0.f;
    for (int offset = -r; offset <= r; ++offset)
        total += signal[i + offset];
    smoothed[i] = total / (2 * r + 1);
}

// The same from shared memory: a block's elements and r more on both sides.
__global__ void smoothStaged(const float *__restrict__ signal, float *__restrict__ smoothed, int length, int r)
{
    extern __shared__ float staged[];
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    const int local = threadIdx.x + r;
    if (i < length)
        staged[local] = signal[i];
    if (threadIdx.x < r) {
        const int left = i - r, right = i + blockDim.x;
        if (left >= 0)
            staged[threadIdx.x] = signal[left];
        if (right < length)
            staged[local + blockDim.x] = signal[right];
    }
    __syncthreads();
    if (i >= length)
        return;
    if (i < r || i + r >= length) {
        smoothed[i] = staged[local];
        return;
    }
    float total = 0.f;
    for (int offset = -r; offset <= r; ++offset)
        total += staged[local + offset];
    smoothed[i] = total / (2 * r + 1);
}

std::vector<float> reference(const float *signal, int length, int r)
{
    std::vector<float> out(signal, signal + length);
    for (int i = r; i + r < length; ++i) {
        double total = 0;
        for (int k = i - r; k <= i + r; ++k)
            total += signal[k];
        out[i] = static_cast<float>(total / (2 * r + 1));
    }
    return out;
}

// One signal with all that belongs to it.
class Job {
public:
    Job(int length, unsigned seed)
        : input(length), output(length), source(length), target(length), length(length)
    {
        std::mt19937 engine(seed);
        std::uniform_real_distribution<float> values(-10.f, 10.f);
        for (float &x : input)
            x = values(engine);
    }

    void upload() { copy(source.get(), input.get(), cudaMemcpyHostToDevice); }
    void download() { copy(output.get(), target.get(), cudaMemcpyDeviceToHost); }

    bool agrees(int r) const
    {
        const std::vector<float> wanted = reference(input.get(), length, r);
        for (int i = 0; i < length; ++i)
            if (std::fabs(wanted[i] - output[i]) > 1e-4f)
                return false;
        return true;
    }

    PinnedBuffer<float> input, output;
    DeviceBuffer<float> source, target;
    Stream stream;
    int length;

private:
    void copy(float *to, const float *from, cudaMemcpyKind kind)
    {
        throwOnError(cudaMemcpyAsync(to, from, source.bytes(), kind, stream), "cudaMemcpyAsync");
    }
};

using Launch = std::function<void(const Job &, int radius)>;

struct Method {
    std::string name;
    Launch launch;
};

int blocks(const Job &job) { return (job.length + kThreads - 1) / kThreads; }

int smoothAll(std::vector<std::unique_ptr<Job>> &jobs, const Method &method, int radius)
{
    Timer timer;
    Stream clock;
    timer.start(clock);
    for (auto &job : jobs)
        job->upload();
    for (auto &job : jobs) {
        method.launch(*job, radius);
        throwOnError(cudaGetLastError(), method.name.c_str());
    }
    for (auto &job : jobs)
        job->download();
    for (auto &job : jobs)
        job->stream.wait();
    const float ms = timer.stop(clock);
    int good = 0;
    for (auto &job : jobs)
        good += job->agrees(radius);
    std::cout << method.name << ", r = " << radius << ": " << good << " of " << jobs.size() << " agree\n";
    std::cerr << ms << " ms\n";
    return good == static_cast<int>(jobs.size());
}

int main()
{
    try {
        int devices = 0;
        throwOnError(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
        if (devices == 0)
            throw std::runtime_error("no GPU");
        std::vector<std::unique_ptr<Job>> jobs;
        for (unsigned n = 0; n < 4; ++n)
            jobs.push_back(std::make_unique<Job>(1000 + 300 * n, n + 1));
        const std::vector<Method> methods = {
            {"global",
             [](const Job &job, int r) {
                 smoothGlobal<<<blocks(job), kThreads, 0, job.stream>>>(job.source.get(), job.target.get(), job.length,
                                                                        r);
             }},
            {"staged",
             [](const Job &job, int r) {
                 const std::size_t bytes = (kThreads + 2 * r) * sizeof(float);
                 smoothStaged<<<blocks(job), kThreads, bytes, job.stream>>>(job.source.get(), job.target.get(),
                                                                            job.length, r);
             }},
        };
        bool all = true;
        for (const Method &method : methods)
            for (int radius : {1, 4})
                all = smoothAll(jobs, method, radius) && all;
        try {
            // More than any device has: told, not fatal.
            DeviceBuffer<double> huge(std::size_t{1} << 50);
        } catch (const CudaException &e) {
            std::cout << e.what() << '\n';
            cudaGetLastError();
        }
        return all ? 0 : 1;
    } catch (const std::exception &e) {
        std::cerr << "fatal: " << e.what() << '\n';
        return 3;
    }
}
