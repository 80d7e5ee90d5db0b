/*
 * Число шагов битонической сети для n = 2^m элементов: m (m + 1) / 2.
 *   n = 64:   m = 6,  21 шаг
 *   n = 128:  m = 7,  28 шагов
 *   n = 1024: m = 10, 55 шагов
 *
 * Если элементов не степень двойки, массив дополняется наибольшим (при убывании - наименьшим) значением,
 * лишние элементы оказываются в конце и отбрасываются.
 *
 * Чётно-нечётная сортировка работает в одном блоке: барьер нужен после каждой фазы.
 */
// Битоническая и чётно-нечётная сортировки: шаблоны по типу и по сравнению.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#define CU(x) cu((x), #x, __LINE__)

static void cu(cudaError_t status, const char *what, int line)
{
    if (status == cudaSuccess)
        return;
    std::fprintf(stderr, "%d: %s: %s\n", line, what, cudaGetErrorString(status));
    std::exit(3);
}

struct Ascending
{
    template <class T>
    __host__ __device__ bool operator()(const T &a, const T &b) const
    {
        return a < b;
    }
};

struct Descending
{
    template <class T>
    __host__ __device__ bool operator()(const T &a, const T &b) const
    {
        return b < a;
    }
};

template <class T>
__device__ void exchange(T &a, T &b)
{
    T t = a;
    a = b;
    b = t;
}

// Один шаг битонической сети: пары на расстоянии j внутри отрезков длины k.
template <class T, class Before>
__global__ void bitonicStep(T *data, unsigned n, unsigned j, unsigned k, Before before)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned other = i ^ j;
    if (i >= n || other <= i)
        return;
    bool up = (i & k) == 0;
    if (up ? before(data[other], data[i]) : before(data[i], data[other]))
        exchange(data[i], data[other]);
}

// Чётно-нечётная сортировка одного блока в разделяемой памяти.
template <class T, class Before, int Size>
__global__ void oddEven(T *data, unsigned n, Before before)
{
    __shared__ T part[Size];
    unsigned i = threadIdx.x;
    if (i < n)
        part[i] = data[i];
    __syncthreads();
    for (unsigned phase = 0; phase < n; phase++)
    {
        unsigned left = 2 * i + (phase & 1);
        if (left + 1 < n && before(part[left + 1], part[left]))
            exchange(part[left], part[left + 1]);
        __syncthreads();
    }
    if (i < n)
        data[i] = part[i];
}

static unsigned powerOfTwo(unsigned n)
{
    unsigned p = 1;
    while (p < n)
        p *= 2;
    return p;
}

template <class T>
class Sorter
{
public:
    explicit Sorter(std::vector<T> values) : values_(std::move(values)) {}

    template <class Before>
    std::vector<T> bitonic(Before before, T filler, int &launches) const
    {
        const unsigned n = powerOfTwo(values_.size());
        std::vector<T> padded(values_);
        padded.resize(n, filler);
        T *device = upload(padded);
        const unsigned threads = std::min(64u, n), blocks = n / threads;
        for (unsigned k = 2; k <= n; k *= 2)
        {
            for (unsigned j = k / 2; j > 0; j /= 2)
            {
                bitonicStep<T, Before><<<blocks, threads>>>(device, n, j, k, before);
                CU(cudaGetLastError());
                launches++;
            }
        }
        download(device, padded);
        padded.resize(values_.size());
        return padded;
    }

    template <class Before>
    std::vector<T> oddEvenBlock(Before before) const
    {
        std::vector<T> copy(values_);
        T *device = upload(copy);
        oddEven<T, Before, 128><<<1, 128>>>(device, copy.size(), before);
        CU(cudaGetLastError());
        download(device, copy);
        return copy;
    }

    template <class Before>
    std::vector<T> expected(Before before) const
    {
        std::vector<T> copy(values_);
        std::sort(copy.begin(), copy.end(), before);
        return copy;
    }

private:
    static T *upload(const std::vector<T> &host)
    {
        T *device = nullptr;
        CU(cudaMalloc(&device, host.size() * sizeof(T)));
        CU(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
        return device;
    }
    static void download(T *device, std::vector<T> &host)
    {
        CU(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
        CU(cudaFree(device));
    }

    std::vector<T> values_;
};

template <class T>
static std::vector<T> shuffled(unsigned n)
{
    std::vector<T> values(n);
    unsigned x = 12345;
    for (auto &value : values)
    {
        x = x * 1664525u + 1013904223u;
        value = static_cast<T>(x >> 20) / 2;
    }
    return values;
}

static int report(const std::string &what, bool ok)
{
    std::printf("%-28s %s\n", what.c_str(), ok ? "sorted" : "NOT SORTED");
    return ok ? 0 : 1;
}

int main()
{
    int failures = 0, launches = 0;

    const Sorter<int> ints(shuffled<int>(100));
    failures += report("int, bitonic, ascending",
                       ints.bitonic(Ascending{}, 1 << 30, launches) == ints.expected(Ascending{}));
    failures += report("int, bitonic, descending",
                       ints.bitonic(Descending{}, -1, launches) == ints.expected(Descending{}));
    failures += report("int, odd-even, ascending",
                       ints.oddEvenBlock(Ascending{}) == ints.expected(Ascending{}));

    const Sorter<float> floats(shuffled<float>(33));
    failures += report("float, bitonic, ascending",
                       floats.bitonic(Ascending{}, 1e30f, launches) == floats.expected(Ascending{}));
    failures += report("float, odd-even, descending",
                       floats.oddEvenBlock(Descending{}) == floats.expected(Descending{}));

    std::printf("%d steps of the network\n", launches);
    return failures;
}
