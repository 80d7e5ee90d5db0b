// cuSOLVER: systems solved three ways, least squares, eigenvalues and singular values, held against what they mean.
#include <cmath>
#include <cstdio>
#include <cusolverDn.h>
#include <vector>

const int N = 3, AREA = 1 << 20;
typedef std::vector<double> V;
cusolverDnHandle_t handle;

double *device(const V &v) {
    double *p;
    cudaMalloc(&p, v.size() * sizeof(double));
    cudaMemcpy(p, v.data(), v.size() * sizeof(double), cudaMemcpyHostToDevice);
    return p;
}
V host(double *p, int n) {
    V v(n);
    cudaMemcpy(v.data(), p, n * sizeof(double), cudaMemcpyDeviceToHost);
    return v;
}
// Column after column: m x k times k x n.
V product(const V &a, const V &b, int m, int n, int k, bool a_turned = false) {
    V c(m * n);
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) for (int l = 0; l < k; l++) c[i + j * m] += (a_turned ? a[l + i * k] : a[i + l * m]) * b[l + j * k];
    return c;
}
bool same(const V &a, const V &b) {
    for (size_t i = 0; i < b.size(); i++) if (std::fabs(a[i] - b[i]) > 1e-9) return false;
    return a.size() == b.size();
}

int main() {
    cusolverDnCreate(&handle);
    int *info, *pivots, size = 0, state = -1;
    double *work;
    cudaMalloc(&info, sizeof(int));
    cudaMalloc(&pivots, N * sizeof(int));
    cudaMalloc(&work, AREA * sizeof(double));
    V general = {1, 4, 7, 2, 5, 8, 3, 6, 10}, symmetric = {4, 1, 0, 1, 3, 1, 0, 1, 2}, right = {1, 2, 3};
    auto told = [&] { cudaMemcpy(&state, info, sizeof(int), cudaMemcpyDeviceToHost); return state; };
    {
        double *a = device(general), *b = device(right);
        cusolverDnDgetrf_bufferSize(handle, N, N, a, N, &size);
        cusolverDnDgetrf(handle, N, N, a, N, work, pivots, info);
        cusolverDnDgetrs(handle, CUBLAS_OP_N, N, 1, a, N, pivots, b, N, info);
        printf("getrf %d %d %d\n", size > 0, told(), same(product(general, host(b, N), N, 1, N), right));
        cudaFree(a); cudaFree(b);
    }
    for (cublasFillMode_t fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
        double *a = device(symmetric), *b = device(right);
        cusolverDnDpotrf(handle, fill, N, a, N, work, AREA, info);
        cusolverDnDpotrs(handle, fill, N, 1, a, N, b, N, info);
        printf("potrf %d %d\n", told(), same(product(symmetric, host(b, N), N, 1, N), right));
        cudaFree(a); cudaFree(b);
    }
    {
        double *a = device({1, 2, 0, 2, 1, 0, 0, 0, 1});
        cusolverDnDpotrf(handle, CUBLAS_FILL_MODE_LOWER, N, a, N, work, AREA, info);
        printf("not positive definite: %d\n", told());
        cudaFree(a);
    }
    {
        // Q R is the matrix, and Q' b what least squares need.
        V tall = {1, 1, 1, 1, 1, 2, 3, 4}, b = {6, 5, 7, 10};
        double *a = device(tall), *tau = device({0, 0}), *c = device(b), *q;
        cusolverDnDgeqrf(handle, 4, 2, a, 4, tau, work, AREA, info);
        V r = host(a, 8);
        cusolverDnDormqr(handle, CUBLAS_SIDE_LEFT, CUBLAS_OP_T, 4, 1, 2, a, 4, tau, c, 4, work, AREA, info);
        V turned = host(c, 4);
        double slope = turned[1] / r[5], offset = (turned[0] - r[4] * slope) / r[0];
        q = device(r);
        cusolverDnDorgqr(handle, 4, 2, 2, q, 4, tau, work, AREA, info);
        printf("geqrf %d y = %.1f + %.1f x, %d\n", told(), offset, slope, same(product(host(q, 8), {r[0], 0, r[4], r[5]}, 4, 2, 2), tall));
        cudaFree(a); cudaFree(tau); cudaFree(c); cudaFree(q);
    }
    {
        double *a = device(symmetric), *w = device({0, 0, 0});
        cusolverDnDsyevd(handle, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, N, a, N, w, work, AREA, info);
        V values = host(w, N), vectors = host(a, 9), scaled = vectors;
        for (int i = 0; i < 9; i++) scaled[i] *= values[i / 3];
        printf("syevd %d %.4f %.4f %.4f %d\n", told(), values[0], values[1], values[2], same(product(symmetric, vectors, N, N, N), scaled));
        cudaFree(a); cudaFree(w);
    }
    {
        V tall = {1, 2, 3, 4, 5, 7};
        double *a = device(tall), *s = device({0, 0}), *u = device(V(9)), *v = device(V(4));
        cusolverDnDgesvd(handle, 'A', 'A', 3, 2, a, 3, s, u, 3, v, 2, work, AREA, nullptr, info);
        V values = host(s, 2), left = host(u, 9), rights = host(v, 4);
        V half = {left[0] * values[0], left[1] * values[0], left[2] * values[0], left[3] * values[1], left[4] * values[1], left[5] * values[1]};
        printf("gesvd %d %.4f %.4f %d\n", told(), values[0], values[1], same(product(half, rights, 3, 2, 2), tall));
        cudaFree(a); cudaFree(s); cudaFree(u); cudaFree(v);
    }
    {
        cusolverDnParams_t params;
        cusolverDnCreateParams(&params);
        double *a = device(general), *b = device(right);
        int64_t *wide;
        cudaMalloc(&wide, N * sizeof(int64_t));
        size_t on_device, on_host;
        cusolverDnXgetrf_bufferSize(handle, params, N, N, CUDA_R_64F, a, N, CUDA_R_64F, &on_device, &on_host);
        std::vector<char> area(on_host + 1);
        cusolverDnXgetrf(handle, params, N, N, CUDA_R_64F, a, N, wide, CUDA_R_64F, work, on_device, area.data(), on_host, info);
        cusolverDnXgetrs(handle, params, CUBLAS_OP_N, N, 1, CUDA_R_64F, a, N, wide, CUDA_R_64F, b, N, info);
        printf("Xgetrf %d %d\n", told(), same(product(general, host(b, N), N, 1, N), right));
        cusolverDnDestroyParams(params);
        cudaFree(a); cudaFree(b); cudaFree(wide);
    }
    cudaFree(info); cudaFree(pivots); cudaFree(work);
    printf("%d\n", cusolverDnDestroy(handle));
}

// NVIDIA's own helper_cuda.h, which samples bring along, names errors of those libraries whose headers it knows by these.
#if !defined(CUSOLVER_COMMON_H_) || !defined(CUBLAS_API_H_)
#error "headers of libraries are not known"
#endif
