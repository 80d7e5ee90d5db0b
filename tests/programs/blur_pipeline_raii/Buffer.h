#ifndef BUFFER_H
#define BUFFER_H

#include <cuda_runtime.h>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

class CudaException : public std::runtime_error {
public:
    CudaException(cudaError_t code, const char *where)
        : std::runtime_error(std::string(where) + ": " + cudaGetErrorName(code)), code_(code) {}
    cudaError_t code() const noexcept { return code_; }

private:
    cudaError_t code_;
};

inline void throwOnError(cudaError_t code, const char *where)
{
    if (code != cudaSuccess)
        throw CudaException(code, where);
}

// Memory of the device, freed with its owner.
template <typename T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(std::size_t count) : count_(count)
    {
        throwOnError(cudaMalloc(reinterpret_cast<void **>(&data_), count * sizeof(T)), "cudaMalloc");
    }
    ~DeviceBuffer() { cudaFree(data_); }
    DeviceBuffer(const DeviceBuffer &) = delete;
    DeviceBuffer &operator=(const DeviceBuffer &) = delete;
    DeviceBuffer(DeviceBuffer &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}

    T *get() const { return data_; }
    std::size_t size() const { return count_; }
    std::size_t bytes() const { return count_ * sizeof(T); }

private:
    T *data_ = nullptr;
    std::size_t count_ = 0;
};

// Page-locked memory of the host, which asynchronous copies need.
template <typename T>
class PinnedBuffer {
public:
    explicit PinnedBuffer(std::size_t count) : count_(count)
    {
        throwOnError(cudaMallocHost(&data_, count * sizeof(T)), "cudaMallocHost");
    }
    ~PinnedBuffer() { cudaFreeHost(data_); }
    PinnedBuffer(const PinnedBuffer &) = delete;
    PinnedBuffer &operator=(const PinnedBuffer &) = delete;

    T &operator[](std::size_t i) { return data_[i]; }
    const T &operator[](std::size_t i) const { return data_[i]; }
    T *begin() { return data_; }
    T *end() { return data_ + count_; }
    T *get() const { return data_; }
    std::size_t size() const { return count_; }

private:
    T *data_ = nullptr;
    std::size_t count_ = 0;
};

class Stream {
public:
    Stream() { throwOnError(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
    ~Stream() { cudaStreamDestroy(stream_); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    operator cudaStream_t() const { return stream_; }
    void wait() const { throwOnError(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

private:
    cudaStream_t stream_ = nullptr;
};

class Timer {
public:
    Timer()
    {
        throwOnError(cudaEventCreate(&begin_), "cudaEventCreate");
        throwOnError(cudaEventCreate(&end_), "cudaEventCreate");
    }
    ~Timer()
    {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }
    void start(cudaStream_t s) { throwOnError(cudaEventRecord(begin_, s), "cudaEventRecord"); }
    float stop(cudaStream_t s)
    {
        float ms = 0;
        throwOnError(cudaEventRecord(end_, s), "cudaEventRecord");
        throwOnError(cudaEventSynchronize(end_), "cudaEventSynchronize");
        throwOnError(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
        return ms;
    }

private:
    cudaEvent_t begin_, end_;
};

#endif
