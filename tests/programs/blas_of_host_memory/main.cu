#include <cstdio>
#include <cublasXt.h>

int main() {
    double a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 1, 1, 1}, c[] = {1, 1, 1, 1}, alpha = 1, beta = 10;
    cublasXtHandle_t handle;
    int first[] = {0}, none[] = {99};
    printf("%d", cublasXtCreate(&handle));
    printf(" %d", cublasXtDeviceSelect(handle, 1, first));
    printf(" %d", cublasXtDeviceSelect(handle, 1, none));
    printf(" %d\n", cublasXtSetBlockDim(handle, 64));
    // (2 x 3) (3 x 2), and with both turned
    int status = cublasXtDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &alpha, a, 2, b, 3, &beta, c, 2);
    printf("%d: %g %g %g %g\n", status, c[0], c[1], c[2], c[3]);
    beta = 0;
    status = cublasXtDgemm(handle, CUBLAS_OP_T, CUBLAS_OP_T, 2, 2, 3, &alpha, a, 3, b, 2, &beta, c, 2);
    printf("%d: %g %g %g %g\n", status, c[0], c[1], c[2], c[3]);
    double l[] = {2, 1, 0, 4};
    status = cublasXtDtrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 2, 2, &alpha, l, 2, c, 2);
    printf("%d: %g %g %g %g\n", status, c[0], c[1], c[2], c[3]);
    cublasXtDestroy(handle);
}
