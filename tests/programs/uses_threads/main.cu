#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
__global__ void k(int* x) { *x = 1; }
std::mutex guard;
std::condition_variable changed;
bool ready = false;
int main() {
    std::thread worker([] {
        std::unique_lock<std::mutex> lock(guard);
        changed.wait(lock, [] { return ready; });
        printf("in a thread\n");
    });
    ready = true;
    changed.notify_one();
    worker.join();
}
