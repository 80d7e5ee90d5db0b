#include <iostream>
#include <chrono>
#include <string>
#include <memory>
using std::cout; using std::string;

// Zadanie 3: transpozycja macierzy prostokatnej
#define BLOCK_DIM 16

__global__ void transpozycja(float* wyj, float* wej, int szer, int wys)
{
    __shared__ float blok[BLOCK_DIM][BLOCK_DIM + 1];
    unsigned int x = blockIdx.x * BLOCK_DIM + threadIdx.x;
    unsigned int y = blockIdx.y * BLOCK_DIM + threadIdx.y;
    if ((x < szer) && (y < wys))
    {
        blok[threadIdx.y][threadIdx.x] = wej[y * szer + x];
        __syncthreads();
    }
    x = blockIdx.y * BLOCK_DIM + threadIdx.x;
    y = blockIdx.x * BLOCK_DIM + threadIdx.y;
    if ((x < wys) && (y < szer))
        wyj[y * wys + x] = blok[threadIdx.x][threadIdx.y];
}

struct Blad { string opis; };

void sprawdz(cudaError_t e, const char* co) { if (e != cudaSuccess) throw Blad{string(co) + ": " + cudaGetErrorString(e)}; }

int main() try
{
    const int szer = 64, wys = 48;
    auto a = std::make_unique<float[]>(szer * wys), b = std::make_unique<float[]>(szer * wys);
    for (int i = 0; i < szer * wys; i++) a[i] = i * 0.25f;
    float *d_a, *d_b;
    sprawdz(cudaMalloc(&d_a, szer * wys * sizeof(float)), "malloc");
    sprawdz(cudaMalloc(&d_b, szer * wys * sizeof(float)), "malloc");
    sprawdz(cudaMemcpy(d_a, a.get(), szer * wys * sizeof(float), cudaMemcpyHostToDevice), "kopiowanie");
    dim3 blok(BLOCK_DIM, BLOCK_DIM);
    dim3 siatka(szer / BLOCK_DIM + (szer % BLOCK_DIM ? 1 : 0), wys / BLOCK_DIM + (wys % BLOCK_DIM ? 1 : 0));
    auto start = std::chrono::high_resolution_clock::now();
    transpozycja<<<siatka, blok>>>(d_b, d_a, szer, wys);
    sprawdz(cudaPeekAtLastError(), "start");
    sprawdz(cudaDeviceSynchronize(), "jadro");
    auto stop = std::chrono::high_resolution_clock::now();
    auto us = std::chrono::duration_cast<std::chrono::microseconds>(stop - start).count();
    sprawdz(cudaMemcpy(b.get(), d_b, szer * wys * sizeof(float), cudaMemcpyDeviceToHost), "kopiowanie");
    int zle = 0;
    for (int w = 0; w < wys; w++) for (int s = 0; s < szer; s++) zle += b[s * wys + w] != a[w * szer + s];
    cout << "Zle elementy: " << zle << (us >= 0 ? "" : "?") << "\n";
    cudaFree(d_a); cudaFree(d_b);
    return 0;
}
catch (const Blad& blad) { std::cerr << blad.opis << std::endl; return 1; }
