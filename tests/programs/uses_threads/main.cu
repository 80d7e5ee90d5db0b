#include <thread>
#include <cstdio>
__global__ void k(int* x) { *x = 1; }
int main() {
    std::thread worker([] { printf("in a thread\n"); });
    worker.join();
}
