// Produit de matrices : B est d'abord transposée, puis chaque fil fait plusieurs éléments.
#include <iostream>
#include <vector>

__global__ void tourner(const int *b, int *bt, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * n; i += blockDim.x * gridDim.x)
        bt[(i % n) * n + i / n] = b[i];
}

__global__ void multiplier(const int *a, const int *bt, int *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (i < n * n) {
        int somme = 0;
        for (int k = 0; k < n; ++k) somme += a[i / n * n + k] * bt[i % n * n + k];
        c[i] = somme;
        i += blockDim.x * gridDim.x;
    }
}

int main() {
    int n, blocs, fils;
    std::cout << "taille, blocs, fils par bloc : ";
    std::cin >> n >> blocs >> fils;
    std::vector<int> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; ++i) {
        a[i] = i % 9;
        b[i] = i % 4;
    }
    int octets = n * n * sizeof(int), *da, *db, *dbt, *dc;
    cudaMalloc((void **)&da, octets);
    cudaMalloc((void **)&db, octets);
    cudaMalloc((void **)&dbt, octets);
    cudaMalloc((void **)&dc, octets);
    cudaMemcpy(da, a.data(), octets, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), octets, cudaMemcpyHostToDevice);
    tourner<<<blocs, fils>>>(db, dbt, n);
    multiplier<<<blocs, fils>>>(da, dbt, dc, n);
    if (cudaGetLastError() != cudaSuccess) std::cout << "lancement refusé\n";
    cudaMemcpy(c.data(), dc, octets, cudaMemcpyDeviceToHost);
    int faux = 0;
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
            int somme = 0;
            for (int k = 0; k < n; ++k) somme += a[y * n + k] * b[k * n + x];
            faux += somme != c[y * n + x];
        }
    std::cout << faux << '\n';
    cudaFree(da);
    cudaFree(db);
    cudaFree(dbt);
    cudaFree(dc);
    return 0;
}
