// y = A * x for a sparse matrix: row r has the elements k = row_start[r] … row_start[r + 1] - 1, each with columns[k] and
// values[k].  All pointers are of the device.  Write the kernel and its launch.  Build with:  nvcc -o csr-product starter.cu
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                    \
    do {                                                                               \
        cudaError_t status = (call);                                                   \
        if (status != cudaSuccess) {                                                   \
            fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status));    \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

__global__ void multiply(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows)
{
}

// The grader calls this function; the rest of the file is yours.
void solve(const int *row_start, const int *columns, const float *values, const float *x, float *y, int rows, int cols,
           int nonzeros)
{
}

template <class T>
T *on_device(const std::vector<T> &data)
{
    T *copy;
    CHECK(cudaMalloc(&copy, data.size() * sizeof(T)));
    CHECK(cudaMemcpy(copy, data.data(), data.size() * sizeof(T), cudaMemcpyHostToDevice));
    return copy;
}

int main()
{
    const int rows = 5000, cols = 3000;
    std::vector<int> row_start(1, 0), columns;
    std::vector<float> values, x(cols), y(rows), expected(rows, 0.0f);
    for (int c = 0; c < cols; ++c)
        x[c] = rand() % 7 - 3;
    for (int r = 0; r < rows; ++r) {
        for (int c = rand() % 400; c < cols; c += 1 + rand() % 400) {
            columns.push_back(c);
            values.push_back(rand() % 7 - 3);
            expected[r] += values.back() * x[c];
        }
        row_start.push_back(columns.size());
    }

    int *d_row_start = on_device(row_start), *d_columns = on_device(columns);
    float *d_values = on_device(values), *d_x = on_device(x), *d_y = on_device(y);

    solve(d_row_start, d_columns, d_values, d_x, d_y, rows, cols, columns.size());
    CHECK(cudaGetLastError());

    CHECK(cudaMemcpy(y.data(), d_y, rows * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int r = 0; r < rows; ++r)
        wrong += y[r] != expected[r];
    printf("%d of %d elements are wrong\n", wrong, rows);

    CHECK(cudaFree(d_row_start));
    CHECK(cudaFree(d_columns));
    CHECK(cudaFree(d_values));
    CHECK(cudaFree(d_x));
    CHECK(cudaFree(d_y));
    return wrong != 0;
}
