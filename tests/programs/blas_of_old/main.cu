#include <cublas.h>
#include <stdio.h>
int main() {
    float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8}, c[4] = {0}, *da, *db, *dc;
    cublasAlloc(4, sizeof(float), (void **)&da);
    cudaMemset(da, 0, 4 * sizeof(float));
    cublasSgemm('n', 't', 2, 2, 2, 1, da, 2, da, 2, 0, da, 2);
    int before = cublasGetError();
    printf("%d %d\n", before, cublasInit());
    cublasAlloc(4, sizeof(float), (void **)&db);
    cublasAlloc(4, sizeof(float), (void **)&dc);
    cublasSetMatrix(2, 2, 4, a, 2, da, 2);
    cublasSetVector(4, 4, b, 1, db, 1);
    cublasSgemm('n', 't', 2, 2, 2, 1.0f, da, 2, db, 2, 0.0f, dc, 2);
    cublasGetMatrix(2, 2, 4, dc, 2, c, 2);
    printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
    printf("%g %g %d\n", cublasSdot(4, da, 1, db, 1), cublasSnrm2(4, da, 1), cublasIsamax(4, db, 1));
    cublasStrsm('L', 'U', 'N', 'N', 2, 2, 1.0f, da, 2, dc, 2);
    cublasSscal(4, 2.0f, dc, 1);
    cublasGetVector(4, 4, dc, 1, c, 1);
    printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
    cublasFree(da); cublasFree(db); cublasFree(dc);
    int after = cublasGetError();
    printf("%d %d\n", after, cublasShutdown());
}
