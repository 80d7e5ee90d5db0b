// Laboratorium 2: transpozycja. Kolejne wersje wlaczam po jednej, mierze czas, wpisuje do tabeli.
//   wersja1<<<bloki, watki>>>(wejscie, wyjscie, n);   - tak nie, patrz main
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define B 32

__global__ void wersja1(const int *wejscie, int *wyjscie, int n)
{
    int kolumna = B * blockIdx.x + threadIdx.x, wiersz = B * blockIdx.y + threadIdx.y;
    if (kolumna < n && wiersz < n)
        wyjscie[kolumna * n + wiersz] = wejscie[wiersz * n + kolumna];
    // wersja2<<<1, 1>>>(wejscie, wyjscie, n);
}

// jeden watek, jeden wiersz
__global__ void wersja2(const int *wejscie, int *wyjscie, int n)
{
    int wiersz = blockIdx.x * blockDim.x + threadIdx.x;
    if (wiersz < n)
        for (int i = 0; i < n; i++)
            wyjscie[i * n + wiersz] = wejscie[wiersz * n + i];
}

__global__ void wersja3(const int *wejscie, int *wyjscie, int n)
{
    __shared__ int kafelek[B][B + 1];
    int x = B * blockIdx.x + threadIdx.x, y = B * blockIdx.y + threadIdx.y;
    if (x < n && y < n)
        kafelek[threadIdx.y][threadIdx.x] = wejscie[y * n + x];
    __syncthreads();
    x = B * blockIdx.y + threadIdx.x;
    y = B * blockIdx.x + threadIdx.y;
    if (x < n && y < n)
        wyjscie[y * n + x] = kafelek[threadIdx.x][threadIdx.y];
}

__global__ void wersja4(const int *wejscie, int *wyjscie, int n)
{
    __shared__ int kafelek[B][B];
    int x = B * blockIdx.x + threadIdx.x, y = B * blockIdx.y + threadIdx.y;
    if (x < n && y < n)
        kafelek[threadIdx.y][threadIdx.x] = wejscie[y * n + x];
    __syncthreads();
    x = B * blockIdx.y + threadIdx.x;
    y = B * blockIdx.x + threadIdx.y;
    if (x < n && y < n)
        wyjscie[y * n + x] = kafelek[threadIdx.x][threadIdx.y];
}

int main()
{
    const int n = 300, rozmiar = n * n * sizeof(int);
    int *host = (int *)malloc(rozmiar), *wynik = (int *)malloc(rozmiar), *a, *b;
    for (int i = 0; i < n * n; i++)
        host[i] = i;
    cudaMalloc((void **)&a, rozmiar);
    cudaMalloc((void **)&b, rozmiar);
    cudaMemcpy(a, host, rozmiar, cudaMemcpyHostToDevice);
    dim3 watki(B, B);
    dim3 bloki((n + B - 1) / B, (n + B - 1) / B);
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);
    cudaEventRecord(t0);
    // wersja1<<<bloki, watki>>>(a, b, n);
    //wersja2 <<< (n + 127) / 128, 128 >>> (a, b, n);
    wersja3<<<bloki, watki>>>(a, b, n);
    /* konflikty bankow, najwolniejsza z pamiecia dzielona:
    wersja4<<<dim3(n / B, n / B),
              watki>>>(a, b, n);
    cudaDeviceSynchronize(); */
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    float ms;
    cudaEventElapsedTime(&ms, t0, t1);
    if (cudaGetLastError() != cudaSuccess)
        printf("blad\n");
    cudaMemcpy(wynik, b, rozmiar, cudaMemcpyDeviceToHost);
    int zle = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            zle += wynik[j * n + i] != host[i * n + j];
    printf("zle: %d\n", zle);
    cudaFree(a);
    cudaFree(b);
    free(host);
    free(wynik);
    return zle;
}
