// Thrust's vectors hold the images; an algorithm of it makes the elements.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform.h>

__constant__ float weights[25];

struct Filter {
    const float *in;
    int rows, cols;

    __device__ float operator()(int at) const {
        float sum = 0;
        for (int k = 0; k < 25; ++k) {
            int y = at / cols + k / 5 - 2, x = at % cols + k % 5 - 2;
            if (y >= 0 && y < rows && x >= 0 && x < cols) sum += weights[k] * in[y * cols + x];
        }
        return sum;
    }
};

void solve(const float *in, const float *mask, float *out, int rows, int cols) {
    thrust::device_vector<float> image(in, in + rows * cols), result(rows * cols);
    cudaMemcpyToSymbol(weights, mask, sizeof(weights));
    Filter filter{thrust::raw_pointer_cast(image.data()), rows, cols};
    thrust::counting_iterator<int> first(0);
    thrust::transform(first, first + rows * cols, result.begin(), filter);
    thrust::copy(result.begin(), result.end(), out);
}
