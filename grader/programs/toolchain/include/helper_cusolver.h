// What the samples of cuSOLVER share: their options, norms of vectors and matrices, a clock.
#pragma once
#include "cusparse.h"
#include <cmath>
#include <cstdio>
#include <sys/time.h>
struct testOpts {
    char *sparse_mat_filename;
    const char *testFunc;
    const char *reorder;
    int lda;
};
static inline double second() {
    timeval now;
    gettimeofday(&now, nullptr);
    return (double)now.tv_sec + (double)now.tv_usec / 1000000.0;
}
static inline double vec_norminf(int n, const double *x) {
    double most = 0;
    for (int i = 0; i < n; i++) most = std::fmax(most, std::fabs(x[i]));
    return most;
}
// |A|: the largest sum of a row's absolute values.
static inline double mat_norminf(int m, int n, const double *a, int lda) {
    double most = 0;
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) sum += std::fabs(a[i + j * lda]);
        most = std::fmax(most, sum);
    }
    return most;
}
static inline double csr_mat_norminf(int m, int, int, const cusparseMatDescr_t matrix, const double *values, const int *offsets, const int *) {
    double most = 0;
    int base = cusparseGetMatIndexBase(matrix);
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int at = offsets[i] - base; at < offsets[i + 1] - base; at++) sum += std::fabs(values[at]);
        most = std::fmax(most, sum);
    }
    return most;
}
static inline void display_matrix(int m, int, int, const cusparseMatDescr_t matrix, const double *values, const int *offsets, const int *columns) {
    int base = cusparseGetMatIndexBase(matrix);
    printf("m = %d\n", m);
    for (int i = 0; i < m; i++)
        for (int at = offsets[i] - base; at < offsets[i + 1] - base; at++) printf("(%d, %d) = %20.16E\n", i + 1, columns[at] - base + 1, values[at]);
}
