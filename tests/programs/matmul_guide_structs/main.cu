// Mnożenie macierzy według "CUDA C Programming Guide", rozdz. 3.2
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include "matrix.h"
#include "kernels.cuh"

static Matrix allocHost(int height, int width)
{
    Matrix M;
    M.width = M.stride = width;
    M.height = height;
    M.elements = (float*)malloc((size_t)width * height * sizeof(float));
    return M;
}

static Matrix toDevice(const Matrix M, int copy)
{
    Matrix D = M;
    size_t size = (size_t)M.width * M.height * sizeof(float);
    cudaError_t err = cudaMalloc((void**)&D.elements, size);
    if (err != cudaSuccess) { printf("cudaMalloc: %s\n", cudaGetErrorString(err)); exit(2); }
    if (copy) {
        err = cudaMemcpy(D.elements, M.elements, size, cudaMemcpyHostToDevice);
        if (err != cudaSuccess) { printf("cudaMemcpy: %s\n", cudaGetErrorString(err)); exit(2); }
    }
    return D;
}

// Mnożenie na GPU: wersja 0 bez pamięci współdzielonej, wersja 1 z nią
float MatMul(const Matrix A, const Matrix B, Matrix C, int version)
{
    Matrix d_A = toDevice(A, 1);
    Matrix d_B = toDevice(B, 1);
    Matrix d_C = toDevice(C, 0);

    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);

    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    cudaEventRecord(begin);
    if (version == 0) {
        dim3 dimGrid((B.width + dimBlock.x - 1) / dimBlock.x, (A.height + dimBlock.y - 1) / dimBlock.y);
        MatMulKernel<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);
    } else {
        dim3 dimGrid(B.width / dimBlock.x, A.height / dimBlock.y);
        MatMulSharedKernel<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);
    }
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) { printf("kernel: %s\n", cudaGetErrorString(err)); exit(2); }
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = -1;
    cudaEventElapsedTime(&ms, begin, end);

    err = cudaMemcpy(C.elements, d_C.elements, (size_t)C.width * C.height * sizeof(float), cudaMemcpyDeviceToHost);
    if (err != cudaSuccess) { printf("cudaMemcpy: %s\n", cudaGetErrorString(err)); exit(2); }
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    cudaFree(d_A.elements);
    cudaFree(d_B.elements);
    cudaFree(d_C.elements);
    return ms;
}

static void MatMulCPU(const Matrix A, const Matrix B, Matrix C)
{
    for (int i = 0; i < A.height; i++)
        for (int j = 0; j < B.width; j++) {
            double s = 0;
            for (int k = 0; k < A.width; k++)
                s += (double)A.elements[i * A.stride + k] * B.elements[k * B.stride + j];
            C.elements[i * C.stride + j] = (float)s;
        }
}

static float maxDifference(const Matrix X, const Matrix Y)
{
    float worst = 0;
    for (int i = 0; i < X.height * X.width; i++) {
        float d = fabsf(X.elements[i] - Y.elements[i]);
        if (d > worst) worst = d;
    }
    return worst;
}

// Macierz jednostkowa: A * I = A
static int identityTest(void)
{
    const int n = 32;
    Matrix A = allocHost(n, n), I = allocHost(n, n), C = allocHost(n, n);
    int version, ok = 1;
    for (int i = 0; i < n * n; i++) {
        A.elements[i] = (float)(i % 17);
        I.elements[i] = i / n == i % n ? 1.0f : 0.0f;
    }
    for (version = 0; version < 2; version++) {
        MatMul(A, I, C, version);
        if (maxDifference(A, C) != 0)
            ok = 0;
    }
    free(A.elements);
    free(I.elements);
    free(C.elements);
    return ok;
}

static void printCorner(const char* name, const Matrix M, int side)
{
    printf("%s\n", name);
    for (int i = 0; i < side; i++) {
        for (int j = 0; j < side; j++)
            printf("%8.3f", M.elements[i * M.stride + j]);
        printf("\n");
    }
}

int main(int argc, char** argv)
{
    if (argc > 1 && argv[1][0] == 'h') {
        printf("użycie: %s [v]\n", argv[0]);
        return 0;
    }
    const int m = 48, k = 32, n = 64;
    Matrix A = allocHost(m, k), B = allocHost(k, n), C = allocHost(m, n), G = allocHost(m, n);
    for (int i = 0; i < m * k; i++) A.elements[i] = (i * 7 % 13) / 13.0f;
    for (int i = 0; i < k * n; i++) B.elements[i] = (i * 5 % 11) / 11.0f;
    MatMulCPU(A, B, G);

    const char* opis[] = {"pamięć globalna", "pamięć współdzielona"};
    for (int v = 0; v < 2; v++) {
        for (int i = 0; i < m * n; i++) C.elements[i] = -1;
        float ms = MatMul(A, B, C, v);
        float diff = maxDifference(C, G);
        printf("%s: %s, zmierzono czas: %s\n", opis[v], diff < 1e-4f ? "OK" : "źle", ms >= 0 ? "tak" : "nie");
    }
    if (argc > 1 && argv[1][0] == 'v')
        printCorner("C", C, 4);
    printf("macierz jednostkowa: %s\n", identityTest() ? "OK" : "źle");
    free(A.elements);
    free(B.elements);
    free(C.elements);
    free(G.elements);
    return 0;
}
