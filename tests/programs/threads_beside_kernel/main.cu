// The same sums by a kernel, by threads of the C++ library and by POSIX threads.
#include <chrono>
#include <future>
#include <iostream>
#include <mutex>
#include <numeric>
#include <pthread.h>
#include <thrust/device_vector.h>
#include <thread>
#include <vector>

constexpr int COUNT = 4096, WORKERS = 4;

__global__ void sums(const int *values, int *totals) {
    int total = 0;
    for (int i = 0; i < COUNT / WORKERS; ++i) total += values[threadIdx.x * (COUNT / WORKERS) + i];
    totals[threadIdx.x] = total;
}

struct Task {
    const int *first;
    int count, total;
};

void *add(void *given) {
    Task *task = static_cast<Task *>(given);
    task->total = std::accumulate(task->first, task->first + task->count, 0);
    if (task->total < 0) pthread_exit(nullptr);
    return task;
}

int main() {
    std::vector<int> values(COUNT);
    std::iota(values.begin(), values.end(), 0);
    int *dValues, *dTotals, totals[WORKERS];
    cudaMalloc(&dValues, COUNT * sizeof(int));
    cudaMalloc(&dTotals, sizeof totals);
    cudaMemcpy(dValues, values.data(), COUNT * sizeof(int), cudaMemcpyHostToDevice);
    sums<<<1, WORKERS>>>(dValues, dTotals);
    if (cudaMemcpy(totals, dTotals, sizeof totals, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    std::cout << std::accumulate(totals, totals + WORKERS, 0);

    std::mutex guard;
    std::once_flag once;
    int shared = 0;
    std::vector<std::thread> threads;
    for (int w = 0; w < WORKERS; ++w)
        threads.emplace_back([&, w] {
            std::call_once(once, [] { std::cout << " once"; });
            int part = std::accumulate(values.begin() + w * 1024, values.begin() + (w + 1) * 1024, 0);
            std::lock_guard<std::mutex> lock(guard);
            shared += part;
        });
    for (std::thread &thread : threads) thread.join();
    std::cout << ' ' << shared;

    auto half = [&](int from) { return std::accumulate(values.begin() + from, values.begin() + from + 2048, 0); };
    std::future<int> left = std::async(std::launch::async, half, 0), right = std::async(half, 2048);
    std::cout << ' ' << left.get() + right.get();

    pthread_t ids[WORKERS];
    Task tasks[WORKERS];
    int total = 0;
    for (int w = 0; w < WORKERS; ++w) {
        tasks[w] = {values.data() + w * 1024, 1024, 0};
        pthread_create(&ids[w], nullptr, add, &tasks[w]);
    }
    for (pthread_t id : ids) {
        void *done;
        pthread_join(id, &done);
        total += static_cast<Task *>(done)->total;
    }
    pthread_t late;
    pthread_create(&late, nullptr, add, &tasks[0]);
    if (pthread_cancel(late)) return 2;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::cout << ' ' << total << '\n';
    cudaFree(dValues);
    cudaFree(dTotals);
}
