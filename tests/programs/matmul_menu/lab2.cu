/***********************************************************************
 *  Лабораторная работа 2. Перемножение квадратных матриц на GPU.
 *  Программа с меню: размер матрицы, выбор варианта, сравнение с CPU.
 *  Студент: Смирнов А. В., группа М8О-408Б
 ***********************************************************************/
#include <cuda_runtime.h>
#include <iostream>
#include <iomanip>
#include <cstdlib>
#include <cmath>
#include <clocale>

using namespace std;

#define S 16            // сторона блока
#define U 4             // шаг раскрутки цикла
#define EPS 1e-3f

#define CUDA_CHECK(call)                                                   \
{                                                                          \
    cudaError_t err = call;                                                \
    if (err != cudaSuccess)                                                \
    {                                                                      \
        cout << "Ошибка CUDA в строке " << __LINE__ << ": "                \
             << cudaGetErrorString(err) << endl;                           \
        exit(1);                                                           \
    }                                                                      \
}

enum Variant { NAIVE = 1, ROW, COLUMN, BLOCK, UNROLLED };

// ---------------------------------------------------------------- ядра
// 1. Один поток вычисляет один элемент, только глобальная память
__global__ void matMulNaive(const float *A, const float *B, float *C, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N)
    {
        float s = 0.0f;
        for (int k = 0; k < N; k++)
            s += A[row * N + k] * B[k * N + col];
        C[row * N + col] = s;
    }
}

// 2. Блок вычисляет строку результата, строка A лежит в разделяемой памяти
__global__ void matMulRow(const float *A, const float *B, float *C, int N)
{
    extern __shared__ float strokaA[];
    int row = blockIdx.x;
    for (int k = threadIdx.x; k < N; k += blockDim.x)
        strokaA[k] = A[row * N + k];
    __syncthreads();
    for (int col = threadIdx.x; col < N; col += blockDim.x)
    {
        float s = 0.0f;
        for (int k = 0; k < N; k++)
            s += strokaA[k] * B[k * N + col];
        C[row * N + col] = s;
    }
}

// 3. Блок вычисляет столбец результата, столбец B лежит в разделяемой памяти
__global__ void matMulColumn(const float *A, const float *B, float *C, int N)
{
    extern __shared__ float stolbecB[];
    int col = blockIdx.x;
    for (int k = threadIdx.x; k < N; k += blockDim.x)
        stolbecB[k] = B[k * N + col];
    __syncthreads();
    for (int row = threadIdx.x; row < N; row += blockDim.x)
    {
        float s = 0.0f;
        for (int k = 0; k < N; k++)
            s += A[row * N + k] * stolbecB[k];
        C[row * N + col] = s;
    }
}

// 4. Блочный алгоритм
__global__ void matMulBlock(const float *A, const float *B, float *C, int N)
{
    __shared__ float a[S][S];
    __shared__ float b[S][S];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * S + ty;
    int col = blockIdx.x * S + tx;
    float s = 0.0f;
    for (int t = 0; t < (N + S - 1) / S; t++)
    {
        a[ty][tx] = (row < N && t * S + tx < N) ? A[row * N + t * S + tx] : 0.0f;
        b[ty][tx] = (t * S + ty < N && col < N) ? B[(t * S + ty) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < S; k++)
            s += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    if (row < N && col < N)
        C[row * N + col] = s;
}

// 5. То же с раскруткой внутреннего цикла
__global__ void matMulUnrolled(const float *A, const float *B, float *C, int N)
{
    __shared__ float a[S][S];
    __shared__ float b[S][S];
    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * S + ty;
    int col = blockIdx.x * S + tx;
    float s = 0.0f;
    for (int t = 0; t < (N + S - 1) / S; t++)
    {
        a[ty][tx] = (row < N && t * S + tx < N) ? A[row * N + t * S + tx] : 0.0f;
        b[ty][tx] = (t * S + ty < N && col < N) ? B[(t * S + ty) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < S; k += U)
        {
            s += a[ty][k] * b[k][tx];
            s += a[ty][k + 1] * b[k + 1][tx];
            s += a[ty][k + 2] * b[k + 2][tx];
            s += a[ty][k + 3] * b[k + 3][tx];
        }
        __syncthreads();
    }
    if (row < N && col < N)
        C[row * N + col] = s;
}

// ------------------------------------------------------------ программа
float *hA = NULL, *hB = NULL, *hC = NULL, *hRef = NULL;
int N = 0;

void freeMatrices()
{
    free(hA); free(hB); free(hC); free(hRef);
    hA = hB = hC = hRef = NULL;
}

void mulCPU()
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
        {
            float s = 0;
            for (int k = 0; k < N; k++)
                s += hA[i * N + k] * hB[k * N + j];
            hRef[i * N + j] = s;
        }
}

void setSize(int n)
{
    freeMatrices();
    N = n;
    size_t bytes = (size_t)N * N * sizeof(float);
    hA = (float *)malloc(bytes);
    hB = (float *)malloc(bytes);
    hC = (float *)malloc(bytes);
    hRef = (float *)malloc(bytes);
    srand(1);
    for (int i = 0; i < N * N; i++)
    {
        hA[i] = (float)(rand() % 10);
        hB[i] = (float)(rand() % 10);
    }
    mulCPU();
    cout << "Матрицы " << N << "x" << N << " заполнены." << endl;
}

const char *name(int v)
{
    switch (v)
    {
        case NAIVE:    return "Простой вариант";
        case ROW:      return "Строка A в разделяемой памяти";
        case COLUMN:   return "Столбец B в разделяемой памяти";
        case BLOCK:    return "Блочный вариант";
        case UNROLLED: return "Блочный вариант с раскруткой";
    }
    return "?";
}

void run(int v)
{
    if (N == 0)
    {
        cout << "Сначала задайте размер!" << endl;
        return;
    }
    size_t bytes = (size_t)N * N * sizeof(float);
    float *dA, *dB, *dC, ms = 0;
    cudaEvent_t t0, t1;
    CUDA_CHECK(cudaMalloc((void **)&dA, bytes));
    CUDA_CHECK(cudaMalloc((void **)&dB, bytes));
    CUDA_CHECK(cudaMalloc((void **)&dC, bytes));
    CUDA_CHECK(cudaMemcpy(dA, hA, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dB, hB, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaEventCreate(&t0));
    CUDA_CHECK(cudaEventCreate(&t1));

    dim3 block(S, S);
    dim3 grid((N + S - 1) / S, (N + S - 1) / S);
    int threads = N < 256 ? N : 256;
    CUDA_CHECK(cudaEventRecord(t0));
    switch (v)
    {
        case NAIVE:    matMulNaive<<<grid, block>>>(dA, dB, dC, N); break;
        case ROW:      matMulRow<<<N, threads, N * sizeof(float)>>>(dA, dB, dC, N); break;
        case COLUMN:   matMulColumn<<<N, threads, N * sizeof(float)>>>(dA, dB, dC, N); break;
        case BLOCK:    matMulBlock<<<grid, block>>>(dA, dB, dC, N); break;
        case UNROLLED: matMulUnrolled<<<grid, block>>>(dA, dB, dC, N); break;
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaEventRecord(t1));
    CUDA_CHECK(cudaEventSynchronize(t1));
    CUDA_CHECK(cudaEventElapsedTime(&ms, t0, t1));
    CUDA_CHECK(cudaMemcpy(hC, dC, bytes, cudaMemcpyDeviceToHost));

    float maxDiff = 0;
    for (int i = 0; i < N * N; i++)
        maxDiff = fmax(maxDiff, fabs(hC[i] - hRef[i]));
    cout << name(v) << ": " << (maxDiff < EPS ? "верно" : "НЕВЕРНО") << endl;
    cerr << fixed << setprecision(3) << "  время " << ms << " мс" << endl;

    CUDA_CHECK(cudaEventDestroy(t0));
    CUDA_CHECK(cudaEventDestroy(t1));
    CUDA_CHECK(cudaFree(dA));
    CUDA_CHECK(cudaFree(dB));
    CUDA_CHECK(cudaFree(dC));
}

int main()
{
    setlocale(LC_ALL, "Russian");
    int choice = -1;
    while (true)
    {
        cout << "\n1-5 - вариант, 6 - все варианты, 7 - размер, 0 - выход\n> ";
        if (!(cin >> choice) || choice == 0)
            break;
        if (choice == 7)
        {
            int n;
            cout << "N = ";
            cin >> n;
            if (n < 1 || n > 4096)
                cout << "Размер должен быть от 1 до 4096" << endl;
            else
                setSize(n);
        }
        else if (choice == 6)
            for (int v = NAIVE; v <= UNROLLED; v++)
                run(v);
        else if (choice >= NAIVE && choice <= UNROLLED)
            run(choice);
        else
            cout << "Нет такого пункта" << endl;
    }
    freeMatrices();
    cout << "До свидания!" << endl;
    return 0;
}
