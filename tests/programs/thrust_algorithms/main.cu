// Thrust by its own headers: containers, algorithms, iterators that compute, functors and a lambda.
#include "sys/time.h"
#include <algorithm>
#include <complex>
#include <iostream>
#include <numeric>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
#include <vector>

static_assert(FLT_EPSILON < 1 && INT_MAX > 0);  // what the headers bring with them
static_assert(sizeof(half) == 2 && sizeof(nv_bfloat16) == 2);

struct saxpy {
    float a;
    __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};

struct square {
    __host__ __device__ int operator()(int x) const { return x * x; }
};

__global__ void add_one(int *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += 1;
}

const char *same(bool is) { return is ? "ok" : "WRONG"; }

int main() {
    const int n = 500;
    thrust::host_vector<int> host(n);
    unsigned state = 1;
    for (int &x : host) {
        state = state * 1103515245 + 12345;
        x = (state >> 16) % 100;
    }
    std::vector<int> wanted(host.begin(), host.end());

    timeval now;
    gettimeofday(&now, nullptr);
    using namespace std;
    complex<float> z(0.5f, 1);
    z = pow(z, 2);
    cout << "complex " << z.real() << " " << z.imag() << " " << same(now.tv_sec > 0) << endl;

    thrust::device_vector<int> data = host;
    int sum = thrust::reduce(data.begin(), data.end(), 0, thrust::plus<int>());
    std::cout << "sum " << sum << " " << same(sum == std::accumulate(wanted.begin(), wanted.end(), 0)) << "\n";

    thrust::sort(data.begin(), data.end());
    std::sort(wanted.begin(), wanted.end());
    std::cout << "sorted " << same(std::equal(wanted.begin(), wanted.end(), thrust::host_vector<int>(data).begin())) << "\n";

    // So many that no kernel sorts them, with equal ones, and zeros of both signs, which are equal too.
    const int many = 20000;
    std::vector<float> keys(many);
    std::vector<int> places(many);
    for (int i = 0; i < many; i++) keys[i] = (i % 7 ? 1.0f : -1.0f) * (i * 7919 % 1000), places[i] = i;
    thrust::device_vector<float> by(keys.begin(), keys.end());
    thrust::device_vector<int> moved(places.begin(), places.end());
    thrust::stable_sort_by_key(by.begin(), by.end(), moved.begin(), thrust::greater<float>());
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return keys[a] > keys[b]; });
    std::cout << "by keys " << same(std::equal(places.begin(), places.end(), thrust::host_vector<int>(moved).begin())) << "\n";

    auto end = thrust::unique(data.begin(), data.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::cout << "unique " << end - data.begin() << " " << same((size_t)(end - data.begin()) == wanted.size()) << "\n";

    thrust::device_vector<int> ones(64, 1), sums(64);
    thrust::inclusive_scan(ones.begin(), ones.end(), sums.begin());
    add_one<<<1, 64>>>(thrust::raw_pointer_cast(sums.data()), 64);
    std::cout << "scan " << sums[0] << " " << sums[63] << "\n";

    thrust::device_vector<float> x(64), y(64, 1.0f);
    thrust::sequence(x.begin(), x.end());
    thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), saxpy{2.0f});
    std::cout << "saxpy " << y[0] << " " << y[63] << "\n";
    int squares = thrust::transform_reduce(thrust::counting_iterator<int>(1), thrust::counting_iterator<int>(11), square(), 0, thrust::plus<int>());
    std::cout << "squares " << squares << "\n";

    thrust::device_vector<int> out(64);
    int offset = 7;
    thrust::transform(thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(64), out.begin(),
                      [=] __device__(int i) { return i * i + offset; });
    std::cout << "lambda " << out[5] << " " << out[63] << "\n";
    return 0;
}
