#include <cublas_v2.h>
@{kernels}@
int main()
{
    const int n = 1200;
    float *a, one = 1;
    cudaMalloc(&a, 3u * n * n * sizeof(float));
    cublasHandle_t h;
    cublasCreate(&h);
    for (int i = 0; i < 100000; ++i)
        cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, a + n * n, n, &one, a + 2 * n * n, n);
    @{launches}@
}
