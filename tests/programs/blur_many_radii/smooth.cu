/*
 * Лабораторная работа: размытие вектора.
 *
 * y[i] = (x[i-R] + ... + x[i+R]) / (2R + 1), первые и последние R элементов копируются.
 *
 * План:
 *   1. ядро без разделяемой памяти;
 *   2. ядро с разделяемой памятью: блок загружает свои элементы и по R элементов слева и справа;
 *   3. сравнение с CPU, допуск 0.01;
 *   4. радиусы 1, 2, 5, 16.
 */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>
#include <cuda_runtime.h>

using namespace std;

// Сглаживание сигнала скользящим средним. Радиус известен при компиляции (шаблон), блок - 64 потока.
static const int THREADS = 64;

template <int R>
__global__ void blurNaive(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (i < R || i >= n - R)
    {
        out[i] = in[i];
        return;
    }
    float sum = 0;
    for (int k = -R; k <= R; k++)
        sum += in[i + k];
    out[i] = sum / (2 * R + 1);
}

template <int R>
__global__ void blurShared(const float *in, float *out, int n)
{
    __shared__ float s[THREADS + 2 * R];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int t = threadIdx.x + R;
    s[t] = i < n ? in[i] : 0.f;
    if (threadIdx.x < R)
    {
        s[threadIdx.x] = i >= R ? in[i - R] : 0.f;
        s[t + THREADS] = i + THREADS < n ? in[i + THREADS] : 0.f;
    }
    __syncthreads();
    if (i >= n)
        return;
    float value = s[t];
    if (i >= R && i < n - R)
    {
        value = 0;
        for (int k = -R; k <= R; k++)
            value += s[t + k];
        value /= 2 * R + 1;
    }
    out[i] = value;
}

void blurCpu(const vector<float> &in, vector<float> &out, int r)
{
    int n = (int)in.size();
    for (int i = 0; i < n; i++)
    {
        if (i < r || i >= n - r)
        {
            out[i] = in[i];
            continue;
        }
        double sum = 0;
        for (int k = i - r; k <= i + r; k++)
            sum += in[k];
        out[i] = float(sum / (2 * r + 1));
    }
}

class Gpu
{
public:
    Gpu(size_t n) : n(n)
    {
        ok(cudaMalloc(&in, n * sizeof(float)));
        ok(cudaMalloc(&out, n * sizeof(float)));
    }
    ~Gpu()
    {
        cudaFree(in);
        cudaFree(out);
    }
    void load(const vector<float> &v) { ok(cudaMemcpy(in, v.data(), n * sizeof(float), cudaMemcpyHostToDevice)); }
    void store(vector<float> &v) { ok(cudaMemcpy(v.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost)); }

    template <class Kernel>
    double run(Kernel kernel)
    {
        auto begin = chrono::steady_clock::now();
        kernel<<<(n + THREADS - 1) / THREADS, THREADS>>>(in, out, (int)n);
        ok(cudaGetLastError());
        ok(cudaDeviceSynchronize());
        auto end = chrono::steady_clock::now();
        return chrono::duration<double, milli>(end - begin).count();
    }

private:
    static void ok(cudaError_t e)
    {
        if (e != cudaSuccess)
        {
            cerr << "CUDA: " << cudaGetErrorString(e) << endl;
            exit(1);
        }
    }
    size_t n;
    float *in, *out;
};

vector<float> signal(int n)
{
    vector<float> v(n);
    for (int i = 0; i < n; i++)
        v[i] = 50 + 30 * sin(i * 0.05) + (i * 7919 % 100) / 10.0f;
    return v;
}

float difference(const vector<float> &a, const vector<float> &b)
{
    float worst = 0;
    for (size_t i = 0; i < a.size(); i++)
        worst = max(worst, fabs(a[i] - b[i]));
    return worst;
}

template <int R>
bool experiment(const vector<float> &in)
{
    vector<float> expected(in.size()), got(in.size());
    Gpu gpu(in.size());
    gpu.load(in);
    blurCpu(in, expected, R);

    double naive = gpu.run(blurNaive<R>);
    gpu.store(got);
    bool first = difference(got, expected) < 0.01f;

    fill(got.begin(), got.end(), -1.f);
    double shared = gpu.run(blurShared<R>);
    gpu.store(got);
    bool second = difference(got, expected) < 0.01f;

    ostringstream line;
    line << setw(3) << R << " | " << (first ? "да" : "нет") << " | " << (second ? "да" : "нет");
    if (naive < 0 || shared < 0)
        line << " | время отрицательно";
    cout << line.str() << '\n';
    return first && second;
}

string usage(const string &name)
{
    return "Использование: " + name + " [число элементов]\n";
}

int main(int argc, char *argv[])
{
    int n = 1500;
    if (argc > 2)
    {
        cerr << usage(argv[0]);
        return 2;
    }
    if (argc == 2)
    {
        istringstream text(argv[1]);
        if (!(text >> n) || n < 64)
        {
            cerr << usage(argv[0]);
            return 2;
        }
    }
    vector<float> in = signal(n);
    cout << "Элементов: " << n << '\n';
    cout << "  R | обычное | через разделяемую память\n";
    bool ok = experiment<2>(in);
    ok = experiment<1>(in) && ok;
    ok = experiment<5>(in) && ok;
    ok = experiment<16>(in) && ok;
    cout << (ok ? "Все результаты верны" : "Есть ошибки") << endl;
    return ok ? 0 : 1;
}
