#include <cstdio>
#include <cstdlib>
__global__ void nothing() {}
int main() {
    nothing<<<1, 2048>>>();
    if (cudaError_t e = cudaGetLastError()) { std::printf("%s\n", cudaGetErrorString(e)); std::exit(42); }
    return 0;
}
