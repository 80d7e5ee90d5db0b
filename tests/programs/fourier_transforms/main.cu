// cuFFT: every type, dimensions, batches, layouts, in place and not, held against sums of the host.
#include <cmath>
#include <complex>
#include <cstdio>
#include <cufft.h>
#include <cufftXt.h>
#include <vector>

typedef std::complex<double> Z;

// The transform of an array of up to three dimensions, by its definition.
std::vector<Z> transform(const std::vector<Z> &in, int a, int b, int c, int sign) {
    std::vector<Z> out(in.size());
    for (int i = 0; i < a; i++) for (int j = 0; j < b; j++) for (int k = 0; k < c; k++)
        for (int x = 0; x < a; x++) for (int y = 0; y < b; y++) for (int z = 0; z < c; z++)
            out[(i * b + j) * c + k] += in[(x * b + y) * c + z] * std::polar(1.0, sign * 2 * M_PI * ((double)i * x / a + (double)j * y / b + (double)k * z / c));
    return out;
}
template <class T> T *device(const std::vector<Z> &v) {
    std::vector<T> h(v.size());
    for (size_t i = 0; i < v.size(); i++) h[i] = {(decltype(T::x))v[i].real(), (decltype(T::x))v[i].imag()};
    T *p;
    cudaMalloc(&p, h.size() * sizeof(T));
    cudaMemcpy(p, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
}
template <class T> bool holds(T *p, const std::vector<Z> &wanted, size_t first = 0) {
    std::vector<T> h(wanted.size());
    cudaMemcpy(h.data(), p + first, h.size() * sizeof(T), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < h.size(); i++)
        if (std::abs(Z(h[i].x, h[i].y) - wanted[i]) > 1e-3) return false;
    return true;
}
std::vector<Z> numbers(int n) {
    std::vector<Z> v;
    for (int i = 0; i < n; i++) v.push_back(Z(i * 7 % 11, i * 5 % 3));
    return v;
}

int main() {
    cufftHandle plan;
    {
        std::vector<Z> v = numbers(24), first(v.begin(), v.begin() + 12), second(v.begin() + 12, v.end());
        cufftComplex *p = device<cufftComplex>(v);
        printf("%d ", cufftPlan1d(&plan, 12, CUFFT_C2C, 2));
        cufftExecC2C(plan, p, p, CUFFT_FORWARD);
        printf("C2C %d %d", holds(p, transform(first, 1, 1, 12, -1)), holds(p, transform(second, 1, 1, 12, -1), 12));
        cufftExecC2C(plan, p, p, CUFFT_INVERSE);
        for (Z &z : v) z *= 12;
        printf(" back %d\n", holds(p, v));
        cufftDestroy(plan);
        cudaFree(p);
    }
    {
        std::vector<Z> v = numbers(24);
        cufftDoubleComplex *p = device<cufftDoubleComplex>(v), *q = device<cufftDoubleComplex>(v);
        cufftPlan2d(&plan, 4, 6, CUFFT_Z2Z);
        cufftExecZ2Z(plan, p, q, CUFFT_INVERSE);
        printf("2D %d", holds(q, transform(v, 1, 4, 6, 1)));
        cufftDestroy(plan);
        size_t size;
        cufftCreate(&plan);
        cufftMakePlan3d(plan, 2, 3, 4, CUFFT_Z2Z, &size);
        cufftExecZ2Z(plan, p, q, CUFFT_FORWARD);
        printf(" 3D %d %d\n", holds(q, transform(v, 2, 3, 4, -1)), holds(p, v));
        cufftDestroy(plan);
        // Two columns of twelve beside each other: a step of 2, a distance of 1.
        int n[1] = {12};
        cufftPlanMany(&plan, 1, n, n, 2, 1, n, 1, 12, CUFFT_Z2Z, 2);
        cufftExecZ2Z(plan, p, q, CUFFT_FORWARD);
        std::vector<Z> even, odd;
        for (int i = 0; i < 24; i++) (i % 2 ? odd : even).push_back(v[i]);
        printf("layout %d %d\n", holds(q, transform(even, 1, 1, 12, -1)), holds(q, transform(odd, 1, 1, 12, -1), 12));
        cufftDestroy(plan);
        cudaFree(p);
        cudaFree(q);
    }
    {
        const int rows = 3, columns = 5, half = columns / 2 + 1;
        std::vector<Z> v(rows * columns);
        std::vector<double> h(rows * columns), back(rows * columns);
        for (int i = 0; i < rows * columns; i++) v[i] = h[i] = i * 7 % 11;
        cufftDoubleReal *r;
        cufftDoubleComplex *c;
        cudaMalloc(&r, rows * columns * sizeof *r);
        cudaMalloc(&c, rows * half * sizeof *c);
        cudaMemcpy(r, h.data(), rows * columns * sizeof *r, cudaMemcpyHostToDevice);
        cufftPlan2d(&plan, rows, columns, CUFFT_D2Z);
        cufftExecD2Z(plan, r, c);
        std::vector<Z> whole = transform(v, 1, rows, columns, -1), kept;
        for (int i = 0; i < rows; i++) for (int j = 0; j < half; j++) kept.push_back(whole[i * columns + j]);
        printf("D2Z %d", holds(c, kept));
        cufftDestroy(plan);
        cufftPlan2d(&plan, rows, columns, CUFFT_Z2D);
        cufftExecZ2D(plan, c, r);
        cudaMemcpy(back.data(), r, rows * columns * sizeof *r, cudaMemcpyDeviceToHost);
        bool same = true;
        for (int i = 0; i < rows * columns; i++) same &= std::abs(back[i] - 15 * h[i]) < 1e-6;
        printf(" Z2D %d\n", same);
        cufftDestroy(plan);
        cudaFree(r);
        cudaFree(c);
    }
    {
        // In place: rows of real numbers have room for the complex ones.
        float h[10] = {1, 2, 3, 4, 0, 0}, *p;
        cudaMalloc(&p, 6 * sizeof(float));
        cudaMemcpy(p, h, 6 * sizeof(float), cudaMemcpyHostToDevice);
        cufftPlan1d(&plan, 4, CUFFT_R2C, 1);
        cufftExecR2C(plan, p, (cufftComplex *)p);
        cudaMemcpy(h, p, 6 * sizeof(float), cudaMemcpyDeviceToHost);
        printf("in place: %g%+gi %g%+gi %g%+gi\n", h[0], h[1], h[2], h[3], h[4], h[5]);
        cufftDestroy(plan);
        cudaFree(p);
    }
    {
        // By types of data; where there is one device there is no plan for two.
        std::vector<Z> v = {1, 2, 3, 4, 0, 0, Z(0, 1), 5};
        long long n = 8;
        size_t bytes;
        int both[2] = {0, 1};
        cufftCreate(&plan);
        printf("Xt %d", cufftXtSetGPUs(plan, 2, both) == CUFFT_INVALID_DEVICE);
        cufftDestroy(plan);
        cufftCreate(&plan);
        printf(" %d", cufftXtMakePlanMany(plan, 1, &n, nullptr, 1, 8, CUDA_C_32F, nullptr, 1, 8, CUDA_C_32F, 1, &bytes, CUDA_C_32F));
        cufftComplex *p = device<cufftComplex>(v);
        printf(" %d", cufftXtExec(plan, p, p, CUFFT_FORWARD));
        printf(" %d\n", holds(p, transform(v, 1, 1, 8, -1)));
        cufftDestroy(plan);
        cudaFree(p);
    }
    {
        // Two transforms of an array of one into room for one: past arrays nothing fails within what a driver maps.
        float h[6] = {1, 2, 3, 4};
        cufftReal *in;
        cufftComplex *out;
        cudaMalloc(&in, 4 * sizeof(float));
        cudaMalloc(&out, 6 * sizeof(float));
        cudaMemcpy(in, h, 4 * sizeof(float), cudaMemcpyHostToDevice);
        cufftPlan1d(&plan, 4, CUFFT_R2C, 2);
        printf("past %d", cufftExecR2C(plan, in, out));
        cudaMemcpy(h, out, 6 * sizeof(float), cudaMemcpyDeviceToHost);
        printf(": %g%+gi %g%+gi %g%+gi\n", h[0], h[1], h[2], h[3], h[4], h[5]);
        cufftDestroy(plan);
        cudaFree(in);
        cudaFree(out);
    }
    printf("%d %d %d\n", cufftPlan1d(&plan, -1, CUFFT_C2C, 1) != CUFFT_SUCCESS, cufftPlan1d(&plan, 8, (cufftType)1, 1) != CUFFT_SUCCESS, cufftDestroy(12345) == CUFFT_INVALID_PLAN);
}
