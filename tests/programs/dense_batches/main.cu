// cuSOLVER's batches, eigenvalues of a range and of a general matrix, inverses of triangles; cuBLAS's groups and least squares.
#include <cstdio>
#include <cstdlib>
#include <cuComplex.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <vector>

#define CHECK(call)                                                                                     \
    do {                                                                                                \
        int status = (int)(call);                                                                       \
        if (status != 0) {                                                                              \
            std::printf("line %d: %d\n", __LINE__, status);                                             \
            std::exit(1);                                                                               \
        }                                                                                               \
    } while (0)

template <class T> T *on_device(std::vector<T> from) {
    T *to;
    CHECK(cudaMalloc(&to, from.size() * sizeof(T)));
    CHECK(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}

void show(const char *what, const double *from, int count, bool by_size = false) {
    std::vector<double> host(count);
    CHECK(cudaMemcpy(host.data(), from, count * sizeof(double), cudaMemcpyDeviceToHost));
    std::printf("%s", what);
    for (double number : host) std::printf(" %.4f", by_size ? std::abs(number) : number);
    std::printf("\n");
}

// Of numbers, more than any of these calls wants.
const int ROOM = 1 << 20;

int main() {
    std::vector<double> host_work(ROOM);
    cusolverDnHandle_t handle;
    CHECK(cusolverDnCreate(&handle));
    cublasHandle_t blas;
    CHECK(cublasCreate(&blas));
    // Eigenvalues 1, 3, 7 and twice those.
    const std::vector<double> symmetric = {2, 1, 0, 1, 2, 0, 0, 0, 7}, two = {2, 1, 0, 1, 2, 0, 0, 0, 7, 4, 2, 0, 2, 4, 0, 0, 0, 14};
    double *w = on_device(std::vector<double>(8, 0)), *work = on_device(std::vector<double>(ROOM, 0));
    int *info = on_device(std::vector<int>(8, 5)), size;

    syevjInfo_t settings;
    CHECK(cusolverDnCreateSyevjInfo(&settings));
    double *a = on_device(symmetric);
    CHECK(cusolverDnDsyevj_bufferSize(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 3, a, 3, w, &size, settings));
    CHECK(cusolverDnDsyevj(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 3, a, 3, w, work, size, info, settings));
    double residual;
    int sweeps;
    CHECK(cusolverDnXsyevjGetResidual(handle, settings, &residual));
    CHECK(cusolverDnXsyevjGetSweeps(handle, settings, &sweeps));
    show("syevj:", w, 3);
    std::printf("residual %d, sweeps %d\n", residual < 1e-10, sweeps > 0);

    a = on_device(two);
    CHECK(cusolverDnDsyevjBatched_bufferSize(handle, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_LOWER, 3, a, 3, w, &size, settings, 2));
    CHECK(cusolverDnDsyevjBatched(handle, CUSOLVER_EIG_MODE_NOVECTOR, CUBLAS_FILL_MODE_LOWER, 3, a, 3, w, work, size, info, settings, 2));
    show("syevjBatched:", w, 6);
    // Unsorted: each where the small turns leave it, as on an H200.
    CHECK(cusolverDnXsyevjSetSortEig(settings, 0));
    a = on_device(std::vector<double>{1, -1, 0, -1, 2, 0, 0, 0, 0, 3, 4, 0, 4, 7, 0, 0, 0, 0});
    CHECK(cusolverDnDsyevjBatched(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, 3, a, 3, w, work, size, info, settings, 2));
    show("unsorted:", w, 6);
    show("their vectors:", a, 18);

    int found;
    a = on_device(symmetric);
    CHECK(cusolverDnDsyevdx(handle, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_RANGE_V, CUBLAS_FILL_MODE_LOWER, 3, a, 3, 2.5, 7.5, 0, 0, &found, w, work, ROOM, info));
    std::printf("%d in the range", found);
    show(":", w, found);
    a = on_device(symmetric);
    double *b = on_device(std::vector<double>{2, 0, 0, 0, 2, 0, 0, 0, 2});
    CHECK(cusolverDnDsygvdx(handle, CUSOLVER_EIG_TYPE_1, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_RANGE_I, CUBLAS_FILL_MODE_UPPER, 3, a, 3, b, 3, 0, 0, 3, 3, &found, w, work, ROOM, info));
    show("sygvdx:", w, found);
    show("its vector:", a, 3, true);

    gesvdjInfo_t jacobi;
    CHECK(cusolverDnCreateGesvdjInfo(&jacobi));
    a = on_device(std::vector<double>{3, 0, 0, 4, 1, 0, 0, 2});
    double *u = on_device(std::vector<double>(8, 0)), *v = on_device(std::vector<double>(8, 0));
    CHECK(cusolverDnDgesvdjBatched_bufferSize(handle, CUSOLVER_EIG_MODE_VECTOR, 2, 2, a, 2, w, u, 2, v, 2, &size, jacobi, 2));
    CHECK(cusolverDnDgesvdjBatched(handle, CUSOLVER_EIG_MODE_VECTOR, 2, 2, a, 2, w, u, 2, v, 2, work, size, info, jacobi, 2));
    show("gesvdjBatched:", w, 4);
    double left[2];
    CHECK(cusolverDnDgesvdaStridedBatched(handle, CUSOLVER_EIG_MODE_VECTOR, 1, 2, 2, a, 2, 4, w, 1, u, 2, 2, v, 2, 2, work, ROOM, info, left, 2));
    show("gesvda:", w, 2);
    std::printf("leaves %.4f %.4f\n", left[0], left[1]);

    cusolverDnParams_t params;
    CHECK(cusolverDnCreateParams(&params));
    // A quarter turn and a 5: i, -i and 5.
    a = on_device(std::vector<double>{0, 1, 0, -1, 0, 0, 0, 0, 5});
    cuDoubleComplex *eigenvalues, of_host[3];
    CHECK(cudaMalloc(&eigenvalues, sizeof of_host));
    double *vectors = on_device(std::vector<double>(9, 0));
    CHECK(cusolverDnXgeev(handle, params, CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR, 3, CUDA_R_64F, a, 3, CUDA_C_64F, eigenvalues, CUDA_R_64F, nullptr, 3, CUDA_R_64F, vectors, 3, CUDA_R_64F, work, ROOM * sizeof(double), host_work.data(), ROOM * sizeof(double), info));
    CHECK(cudaMemcpy(of_host, eigenvalues, sizeof of_host, cudaMemcpyDeviceToHost));
    double real = 0, imaginary = 0;
    for (cuDoubleComplex value : of_host) real += cuCreal(value), imaginary += cuCimag(value) * cuCimag(value);
    std::printf("geev: trace %.4f, imaginary %.4f\n", real, imaginary);
    a = on_device(std::vector<double>{2, 1, 9, 4});
    CHECK(cusolverDnXtrtri(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_DIAG_NON_UNIT, 2, CUDA_R_64F, a, 2, work, ROOM * sizeof(double), host_work.data(), ROOM * sizeof(double), info));
    show("trtri:", a, 4);

    double *one = on_device(std::vector<double>{4, 2, 2, 5}), *other = on_device(std::vector<double>{9, 0, 0, 16});
    double *first = on_device(std::vector<double>{6, 7}), *second = on_device(std::vector<double>{9, 32});
    double **matrices = on_device(std::vector<double *>{one, other}), **sides = on_device(std::vector<double *>{first, second});
    CHECK(cusolverDnDpotrfBatched(handle, CUBLAS_FILL_MODE_LOWER, 2, matrices, 2, info, 2));
    CHECK(cusolverDnDpotrsBatched(handle, CUBLAS_FILL_MODE_LOWER, 2, 1, matrices, 2, sides, 2, info, 2));
    show("potrsBatched:", first, 2);
    show("potrsBatched:", second, 2);

    // Products of one pair of 2 x 2 and of one of 1 x 2 by 2 x 1.
    double *into = on_device(std::vector<double>(4, 0)), *dot = on_device(std::vector<double>(1, 0));
    double *pa = on_device(std::vector<double>{1, 2, 3, 4}), *pb = on_device(std::vector<double>{1, 0, 1, 1});
    double **as = on_device(std::vector<double *>{pa, pa}), **bs = on_device(std::vector<double *>{pb, pb}), **cs = on_device(std::vector<double *>{into, dot});
    cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_N};
    int m[] = {2, 1}, n[] = {2, 1}, k[] = {2, 2}, lda[] = {2, 1}, ldb[] = {2, 2}, ldc[] = {2, 1}, sizes[] = {1, 1};
    double alpha[] = {1, 10}, beta[] = {0, 0};
    CHECK(cublasDgemmGroupedBatched(blas, operations, operations, m, n, k, alpha, as, lda, bs, ldb, beta, cs, ldc, 2, sizes));
    show("groups:", into, 4);
    show("groups:", dot, 1);
    // The line through (0, 1), (1, 3), (2, 5).
    double *points = on_device(std::vector<double>{1, 1, 1, 0, 1, 2}), *heights = on_device(std::vector<double>{1, 3, 5});
    double **lines = on_device(std::vector<double *>{points}), **values = on_device(std::vector<double *>{heights});
    int told;
    CHECK(cublasDgelsBatched(blas, CUBLAS_OP_N, 3, 2, 1, lines, 3, values, 3, &told, info, 1));
    show("least squares:", heights, 2);
    double *packed = on_device(std::vector<double>(3, 0));
    CHECK(cublasDtrttp(blas, CUBLAS_FILL_MODE_LOWER, 2, pa, 2, packed));
    show("packed:", packed, 3);
    CHECK(cusolverDnDestroy(handle));
    CHECK(cublasDestroy(blas));
    CHECK(cudaDeviceReset());
}
