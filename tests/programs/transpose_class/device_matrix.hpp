#ifndef DEVICE_MATRIX_HPP
#define DEVICE_MATRIX_HPP

#include <cuda_runtime.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

inline void throw_on_error(cudaError_t code, const char* file, int line)
{
    if (code != cudaSuccess)
        throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + cudaGetErrorString(code));
}
#define CU(call) throw_on_error((call), __FILE__, __LINE__)

// Owns memory of the device: may be moved, not copied.
template <class T>
class DeviceMatrix {
public:
    DeviceMatrix(int rows, int cols) : rows_(rows), cols_(cols) { CU(cudaMalloc(&data_, bytes())); }
    DeviceMatrix(const std::vector<T>& host, int rows, int cols) : DeviceMatrix(rows, cols)
    {
        if (host.size() != static_cast<std::size_t>(rows) * cols) throw std::invalid_argument("wrong size");
        CU(cudaMemcpy(data_, host.data(), bytes(), cudaMemcpyHostToDevice));
    }
    DeviceMatrix(DeviceMatrix&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), rows_(other.rows_), cols_(other.cols_) {}
    DeviceMatrix(const DeviceMatrix&) = delete;
    DeviceMatrix& operator=(const DeviceMatrix&) = delete;
    ~DeviceMatrix() { if (data_) cudaFree(data_); }

    std::vector<T> to_host() const
    {
        std::vector<T> host(static_cast<std::size_t>(rows_) * cols_);
        CU(cudaMemcpy(host.data(), data_, bytes(), cudaMemcpyDeviceToHost));
        return host;
    }
    void fill_zero() { CU(cudaMemset(data_, 0, bytes())); }
    T* get() { return data_; }
    const T* get() const { return data_; }
    int rows() const { return rows_; }
    int cols() const { return cols_; }
    std::size_t bytes() const { return sizeof(T) * rows_ * cols_; }

private:
    T* data_ = nullptr;
    int rows_, cols_;
};

// Elapsed milliseconds between construction and stop().
class EventTimer {
public:
    EventTimer() { CU(cudaEventCreate(&from_)); CU(cudaEventCreate(&to_)); CU(cudaEventRecord(from_)); }
    ~EventTimer() { cudaEventDestroy(from_); cudaEventDestroy(to_); }
    float stop()
    {
        float ms = 0;
        CU(cudaEventRecord(to_));
        CU(cudaEventSynchronize(to_));
        CU(cudaEventElapsedTime(&ms, from_, to_));
        return ms;
    }

private:
    cudaEvent_t from_, to_;
};

#endif
