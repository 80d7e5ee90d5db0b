#include <iostream>
#include <vector>
#include <chrono>

// a function of the host; __global__ was forgotten
void matrixMul(float* A, float* B, float* C, int N) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            C[i * N + j] = 0;
            for (int k = 0; k < N; k++) C[i * N + j] += A[i * N + k] * B[k * N + j];
        }
}

int main() {
    const int N = 50;
    std::vector<float> a(N * N, 1.f), b(N * N, 2.f), c(N * N);
    auto t0 = std::chrono::system_clock::now();
    matrixMul(a.data(), b.data(), c.data(), N);
    std::chrono::duration<double> s = std::chrono::system_clock::now() - t0;
    std::cout << "C[0] = " << c[0] << ", " << (s.count() >= 0 ? "ok" : "clock went back") << "\n";
}
