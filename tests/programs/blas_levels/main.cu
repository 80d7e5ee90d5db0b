// A call of each kind that cuBLAS has, every result held against one that loops of the host come to.
#include <cublas_v2.h>
#include <complex>
#include <cstdio>
#include <functional>
#include <type_traits>
#include <vector>

typedef std::complex<double> Z;
typedef std::vector<Z> Dense;  // column after column
const int N = 3, K = 2;
cublasHandle_t handle;

template <class T> T number(Z v) {
    if constexpr (std::is_same_v<T, cuComplex>) return make_cuComplex(v.real(), v.imag());
    else if constexpr (std::is_same_v<T, cuDoubleComplex>) return make_cuDoubleComplex(v.real(), v.imag());
    else return (T)v.real();
}
Z back(float v) { return v; }
Z back(double v) { return v; }
Z back(cuComplex v) { return Z(v.x, v.y); }
Z back(cuDoubleComplex v) { return Z(v.x, v.y); }
Z back(__half v) { return (float)v; }

template <class T> struct Device {
    T *p;
    int n;
    Device(const Dense &v) : n((int)v.size()) {
        std::vector<T> h;
        for (Z z : v) h.push_back(number<T>(z));
        cudaMalloc(&p, n * sizeof(T));
        cublasSetVector(n, sizeof(T), h.data(), 1, p, 1);
    }
    Dense get() const {
        std::vector<T> h(n);
        cublasGetVector(n, sizeof(T), p, 1, h.data(), 1);
        Dense v;
        for (T x : h) v.push_back(back(x));
        return v;
    }
    ~Device() { cudaFree(p); }
};
template <class T> Dense made(int n, int seed) {
    Dense v;
    for (int i = 0; i < n; i++) v.push_back(Z((i * seed + seed) % 7 + 1, sizeof(T) > 4 && !std::is_same_v<T, double> ? (i + seed) % 3 : 0));
    return v;
}
void check(const char *name, const Dense &got, const Dense &wanted) {
    bool same = got.size() == wanted.size();
    for (size_t i = 0; same && i < got.size(); i++) same = std::abs(got[i] - wanted[i]) < 1e-4 * (1 + std::abs(wanted[i]));
    printf("%s %s\n", name, same ? "ok" : "WRONG");
}
// op(A), and A times B, of dense matrices.
Dense turned(const Dense &a, int rows, int columns, bool conjugated) {
    Dense t(a.size());
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) t[j + i * columns] = conjugated ? std::conj(a[i + j * rows]) : a[i + j * rows];
    return t;
}
Dense product(const Dense &a, const Dense &b, int m, int n, int k) {
    Dense c(m * n);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int l = 0; l < k; l++) c[i + j * m] += a[i + l * m] * b[l + j * k];
    return c;
}
Dense sum(const Dense &a, Z factor, const Dense &b, Z other) {
    Dense c(a.size());
    for (size_t i = 0; i < a.size(); i++) c[i] = factor * a[i] + other * b[i];
    return c;
}
Dense lower(const Dense &a, bool kept_diagonal) {
    Dense t(a.size());
    for (int j = 0; j < N; j++)
        for (int i = j; i < N; i++) t[i + j * N] = i == j && !kept_diagonal ? Z(1) : a[i + j * N];
    return t;
}
Dense mirrored(const Dense &a, bool conjugated) {
    Dense t = a;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < j; i++) t[i + j * N] = conjugated ? std::conj(a[j + i * N]) : a[j + i * N];
    for (int j = 0; conjugated && j < N; j++) t[j + j * N] = t[j + j * N].real();
    return t;
}

#define ALL(L, I, T, R) \
    { \
        printf("-- %s\n", #L); \
        T two = number<T>(2), one = number<T>(1), three = number<T>(3), factor = number<T>(Z(1, 2)); \
        Z f = back(factor); \
        Dense a = made<T>(N * N, 3), b = made<T>(N * N, 5), x = made<T>(N, 4), y = made<T>(N, 2), tall = made<T>(N * K, 3), wide = made<T>(K * N, 2); \
        Device<T> A(a), X(x); \
        { Device<T> Y(y); cublas##L##axpy(handle, N, &factor, X.p, 1, Y.p, 1); check("axpy", Y.get(), sum(x, f, y, 1)); } \
        { Device<T> Y(y); cublas##L##axpy(handle, N, &two, X.p, -1, Y.p, 1); check("axpy backwards", Y.get(), sum(Dense(x.rbegin(), x.rend()), 2, y, 1)); } \
        { Device<T> Y(y); cublas##L##scal(handle, 2, &factor, Y.p, 2); check("scal", Y.get(), {f * y[0], y[1], f * y[2]}); } \
        { Device<T> Y(y), C(x); cublas##L##swap(handle, N, C.p, 1, Y.p, 1); check("swap", Y.get(), x); cublas##L##copy(handle, N, Y.p, 1, C.p, 1); check("copy", C.get(), x); } \
        { int high = 0, low = 0; Device<T> V({4, 1, 9, 2}); cublasI##I##amax(handle, 4, V.p, 1, &high); cublasI##I##amin(handle, 4, V.p, 1, &low); printf("amax %d amin %d\n", high, low); } \
        { Device<T> Y(y); cublas##L##gemv(handle, CUBLAS_OP_C, N, N, &factor, A.p, N, X.p, 1, &two, Y.p, 1); check("gemv", Y.get(), sum(product(turned(a, N, N, true), x, N, 1, N), f, y, 2)); } \
        { Device<T> Y(y); cublas##L##symv(handle, CUBLAS_FILL_MODE_LOWER, N, &one, A.p, N, X.p, 1, &two, Y.p, 1); check("symv", Y.get(), sum(product(mirrored(a, false), x, N, 1, N), 1, y, 2)); } \
        { Device<T> Y(y); cublas##L##trmv(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, N, A.p, N, Y.p, 1); check("trmv", Y.get(), product(lower(a, false), y, N, 1, N)); \
          cublas##L##trsv(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, N, A.p, N, Y.p, 1); check("trsv", Y.get(), y); } \
        { Device<T> P({a[0], a[1], a[2], a[4], a[5], a[8]}), Y(y); cublas##L##tpmv(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, N, P.p, Y.p, 1); check("tpmv", Y.get(), product(turned(lower(a, true), N, N, false), y, N, 1, N)); \
          cublas##L##tpsv(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT, N, P.p, Y.p, 1); check("tpsv", Y.get(), y); } \
        { Device<T> B({0, a[0], a[1], a[3], a[4], a[5], a[7], a[8], 0}), Y(y); Dense dense = {a[0], a[1], 0, a[3], a[4], a[5], 0, a[7], a[8]}; cublas##L##gbmv(handle, CUBLAS_OP_N, N, N, 1, 1, &one, B.p, N, X.p, 1, &one, Y.p, 1); check("gbmv", Y.get(), sum(product(dense, x, N, 1, N), 1, y, 1)); } \
        { Device<T> C(b); cublas##L##syr(handle, CUBLAS_FILL_MODE_LOWER, N, &two, X.p, 1, C.p, N); Dense w = sum(product(x, x, N, N, 1), 2, b, 1); for (int i : {3, 6, 7}) w[i] = b[i]; check("syr", C.get(), w); } \
        { Device<T> B(tall), C(b), D(wide); cublas##L##gemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, K, &factor, B.p, N, D.p, K, &two, C.p, N); check("gemm", C.get(), sum(product(tall, wide, N, N, K), f, b, 2)); } \
        { Device<T> B(tall), C(b); cublas##L##gemm(handle, CUBLAS_OP_T, CUBLAS_OP_C, N, N, K, &one, B.p, K, B.p, N, &one, C.p, N); check("gemm of transposed", C.get(), sum(product(turned(tall, K, N, false), turned(tall, N, K, true), N, N, K), 1, b, 1)); } \
        { Device<T> B(b), C(b); cublas##L##symm(handle, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, N, N, &one, A.p, N, B.p, N, &one, C.p, N); check("symm", C.get(), sum(product(b, mirrored(a, false), N, N, N), 1, b, 1)); } \
        { Device<T> B(tall), C(b); cublas##L##syrk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, N, K, &two, B.p, N, &one, C.p, N); Dense w = sum(product(tall, turned(tall, N, K, false), N, N, K), 2, b, 1); for (int i : {3, 6, 7}) w[i] = b[i]; check("syrk", C.get(), w); } \
        { Device<T> B(b), C(b); cublas##L##trmm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, N, N, &two, A.p, N, B.p, N, C.p, N); check("trmm", C.get(), sum(product(lower(a, true), b, N, N, N), 2, b, 0)); \
          cublas##L##trsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, N, N, &one, A.p, N, C.p, N); check("trsm", C.get(), sum(b, 2, b, 0)); } \
        { Device<T> B(b), C(b); cublas##L##geam(handle, CUBLAS_OP_T, CUBLAS_OP_N, N, N, &two, A.p, N, &three, B.p, N, C.p, N); check("geam", C.get(), sum(turned(a, N, N, false), 2, b, 3)); } \
        { Device<T> C(b); Dense w(N * N); for (int i = 0; i < N * N; i++) w[i] = a[i] * x[i / N]; cublas##L##dgmm(handle, CUBLAS_SIDE_RIGHT, N, N, A.p, N, X.p, 1, C.p, N); check("dgmm", C.get(), w); } \
        { Dense c(2 * N * N), w; for (int i = 0; i < 2; i++) for (Z z : product(Dense(tall.begin() + i, tall.begin() + i + 4), Dense(wide.begin(), wide.begin() + 4), 2, 2, 2)) w.push_back(z); \
          Device<T> B(tall), D(wide), C(Dense(8)); cublas##L##gemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, B.p, 2, 1, D.p, 2, 0, &one, C.p, 2, 4, 2); check("gemmStridedBatched", C.get(), w); } \
        { Device<T> M(a), B(b), C(b); T *h[3] = {M.p, B.p, C.p}, **d; int *numbers, info[1] = {7}; cudaMalloc(&d, sizeof h); cudaMalloc(&numbers, 4 * sizeof(int)); cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice); \
          cublas##L##gemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, d, N, d + 1, N, &two, d + 2, N, 1); check("gemmBatched", C.get(), sum(product(a, b, N, N, N), 1, b, 2)); \
          cublas##L##getrfBatched(handle, N, d, N, numbers, numbers + 3, 1); cublas##L##getriBatched(handle, N, d, N, numbers, d + 1, N, numbers + 3, 1); \
          cudaMemcpy(info, numbers + 3, sizeof info, cudaMemcpyDeviceToHost); check("getriBatched", product(a, B.get(), N, N, N), {1, 0, 0, 0, 1, 0, 0, 0, 1}); \
          Device<T> E(y); h[1] = E.p; cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice); cublas##L##getrsBatched(handle, CUBLAS_OP_N, N, 1, d, N, numbers, d + 1, N, info, 1); check("getrsBatched", product(a, E.get(), N, 1, N), y); printf("info %d\n", info[0]); cudaFree(d); cudaFree(numbers); } \
    }
#define REAL(L, T) \
    { \
        Dense a = made<T>(N * N, 3), x = made<T>(N, 4), y = made<T>(N, 2); \
        Device<T> X(x), Y(y), A(a), V({3, -4}); \
        T got[3], two = 2, c = 3, s = 4; \
        cublas##L##dot(handle, N, X.p, 1, Y.p, 1, &got[0]); cublas##L##nrm2(handle, 2, V.p, 1, &got[1]); cublas##L##asum(handle, 2, V.p, 1, &got[2]); \
        check("dot nrm2 asum", {got[0], got[1], got[2]}, {product(x, y, 1, 1, N)[0], 5, 7}); \
        cublas##L##ger(handle, N, N, &two, X.p, 1, Y.p, 1, A.p, N); check("ger", A.get(), sum(product(x, y, N, N, 1), 2, a, 1)); \
        cublas##L##rotg(handle, &c, &s, &got[0], &got[1]); check("rotg", {c, got[0], got[1]}, {5, 0.6, 0.8}); \
        cublas##L##rot(handle, N, X.p, 1, Y.p, 1, &got[0], &got[1]); check("rot", X.get(), sum(x, 0.6, y, 0.8)); check("rot", Y.get(), sum(y, 0.6, x, -0.8)); \
    }
#define COMPLEX(L, P, Q, T, R) \
    { \
        Dense a = made<T>(N * N, 3), x = made<T>(N, 4), y = made<T>(N, 2), tall = made<T>(N * K, 3); \
        Device<T> X(x), Y(y), A(a), B(tall), V({Z(3, -4)}), C(a); \
        T got[2], one = number<T>(1); R norm, size, two = 2, half = 0.5; \
        cublas##L##dotu(handle, N, X.p, 1, Y.p, 1, &got[0]); cublas##L##dotc(handle, N, X.p, 1, Y.p, 1, &got[1]); \
        check("dotu dotc", {back(got[0]), back(got[1])}, {product(x, y, 1, 1, N)[0], product(turned(x, 1, N, true), y, 1, 1, N)[0]}); \
        cublas##P##nrm2(handle, 1, V.p, 1, &norm); cublas##P##asum(handle, 1, V.p, 1, &size); printf("%g %g\n", (double)norm, (double)size); \
        cublas##Q##scal(handle, 1, &half, V.p, 1); check("scal by a real", V.get(), {Z(1.5, -2)}); \
        cublas##L##gerc(handle, N, N, &one, X.p, 1, Y.p, 1, C.p, N); check("gerc", C.get(), sum(product(x, turned(y, 1, N, true), N, N, 1), 1, a, 1)); \
        { Device<T> D(y); cublas##L##hemv(handle, CUBLAS_FILL_MODE_LOWER, N, &one, A.p, N, X.p, 1, &one, D.p, 1); check("hemv", D.get(), sum(product(mirrored(a, true), x, N, 1, N), 1, y, 1)); } \
        { Dense h = mirrored(a, true), w = sum(product(tall, turned(tall, N, K, true), N, N, K), 2, h, 0.5); Device<T> D(h); for (int i : {3, 6, 7}) w[i] = h[i]; cublas##L##herk(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, N, K, &two, B.p, N, &half, D.p, N); check("herk", D.get(), w); } \
        { Dense w = sum(product(x, turned(x, 1, N, true), N, N, 1), 2, a, 1); for (int c = 0; c < N; c++) { w[c * N + c] = w[c * N + c].real(); for (int r = 0; r < c; r++) w[c * N + r] = a[c * N + r]; } \
          Device<T> D(a); cublas##L##her(handle, CUBLAS_FILL_MODE_LOWER, N, &two, X.p, 1, D.p, N); check("her", D.get(), w); \
          Dense packed, wanted; for (int c = 0; c < N; c++) for (int r = c; r < N; r++) { packed.push_back(a[c * N + r]); wanted.push_back(w[c * N + r]); } \
          Device<T> E(packed); cublas##L##hpr(handle, CUBLAS_FILL_MODE_LOWER, N, &two, X.p, 1, E.p); check("hpr", E.get(), wanted); } \
    }

void single() { ALL(S, s, float, float) }
void single_more() { REAL(S, float) }
void whole() { ALL(D, d, double, double) }
void whole_more() { REAL(D, double) }
void paired() { ALL(C, c, cuComplex, float) }
void paired_more() { COMPLEX(C, Sc, Cs, cuComplex, float) }
void both() { ALL(Z, z, cuDoubleComplex, double) }
void both_more() { COMPLEX(Z, Dz, Zd, cuDoubleComplex, double) }

int main() {
    cublasCreate(&handle);
    for (auto part : {single, single_more, whole, whole_more, paired, paired_more, both, both_more}) part();
    Device<__half> h({1, 2, 3, 4}), g({1, 0, 0, 1});
    Device<float> r(Dense(4));
    float one = 1, none = 0, result = 0;
    cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, h.p, CUDA_R_16F, 2, g.p, CUDA_R_16F, 2, &none, r.p, CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    check("GemmEx", r.get(), {1, 2, 3, 4});
    Device<cuComplex> pair({Z(1, 2), 3}), square(Dense(4));
    cublasCherk3mEx(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 2, 1, &one, pair.p, CUDA_C_32F, 2, &none, square.p, CUDA_C_32F, 2);
    check("Cherk3mEx", square.get(), {5, Z(3, -6), 0, 9});
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
    cublasSdot(handle, 4, r.p, 1, r.p, 1, r.p);
    cublasGetVector(1, sizeof(float), r.p, 1, &result, 1);
    printf("on the device: %g, %s\n", result, cublasGetStatusName(cublasSgemv(handle, CUBLAS_OP_N, 4, 1, r.p, r.p, 2, r.p, 1, r.p, r.p, 1)));
    // 4,000,000 numbers of 0.1 in one running float are 200.05 long.
    cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
    Device<float> tenths(Dense(4000000, 0.1));
    cublasSnrm2(handle, 4000000, tenths.p, 1, &result);
    printf("%.3f", result);
    cublasSdot(handle, 4000000, tenths.p, 1, tenths.p, 1, &result);
    printf(" %.1f\n", result);
    cublasDestroy(handle);
}
