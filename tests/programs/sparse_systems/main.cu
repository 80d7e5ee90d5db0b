// cuSOLVER's sparse half: a system on the device and on the host, a batch, an order of rows.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <cusolverSp.h>
#include <vector>

#define CHECK(call)                                                                                     \
    do {                                                                                                \
        int status = (int)(call);                                                                       \
        if (status != 0) {                                                                              \
            std::printf("line %d: %d\n", __LINE__, status);                                             \
            std::exit(1);                                                                               \
        }                                                                                               \
    } while (0)

template <class T> T *on_device(const std::vector<T> &from) {
    T *to;
    CHECK(cudaMalloc(&to, from.size() * sizeof(T)));
    CHECK(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    return to;
}

void show(const char *what, const std::vector<double> &numbers) {
    std::printf("%s", what);
    for (double number : numbers) std::printf(" %.4f", number);
    std::printf("\n");
}

int main() {
    // 4 on the diagonal, -1 beside it, from 1 on; x = 1, 2, 3, 4.
    std::vector<int> offsets = {1, 3, 6, 9, 11}, columns = {1, 2, 1, 2, 3, 2, 3, 4, 3, 4};
    std::vector<double> values = {4, -1, -1, 4, -1, -1, 4, -1, -1, 4}, right = {2, 4, 6, 13}, x(4);
    cusolverSpHandle_t handle;
    CHECK(cusolverSpCreate(&handle));
    cusparseMatDescr_t general;
    CHECK(cusparseCreateMatDescr(&general));
    CHECK(cusparseSetMatIndexBase(general, CUSPARSE_INDEX_BASE_ONE));
    int singular;
    CHECK(cusolverSpDcsrlsvluHost(handle, 4, 10, general, values.data(), offsets.data(), columns.data(), right.data(), 1e-12, 0, x.data(), &singular));
    show("lu:", x);
    int *rows = on_device(offsets), *places = on_device(columns);
    double *numbers = on_device(values), *b = on_device(right), *solution = on_device(std::vector<double>(4, 0));
    CHECK(cusolverSpDcsrlsvqr(handle, 4, 10, general, numbers, rows, places, b, 1e-12, 0, solution, &singular));
    CHECK(cudaMemcpy(x.data(), solution, 4 * sizeof(double), cudaMemcpyDeviceToHost));
    show("qr:", x);
    std::printf("singular: %d\n", singular);
    CHECK(cusolverSpDcsrlsvchol(handle, 4, 10, general, numbers, rows, places, b, 1e-12, 0, solution, &singular));
    CHECK(cudaMemcpy(x.data(), solution, 4 * sizeof(double), cudaMemcpyDeviceToHost));
    show("chol:", x);

    // The same matrix and one of twice its numbers.
    std::vector<double> both = values, sides = right;
    for (double value : values) both.push_back(2 * value);
    for (double value : right) sides.push_back(value);
    csrqrInfo_t info;
    CHECK(cusolverSpCreateCsrqrInfo(&info));
    CHECK(cusolverSpXcsrqrAnalysisBatched(handle, 4, 4, 10, general, rows, places, info));
    double *batch = on_device(both), *bs = on_device(sides), *xs = on_device(std::vector<double>(8, 0));
    size_t internal, bytes;
    CHECK(cusolverSpDcsrqrBufferInfoBatched(handle, 4, 4, 10, general, batch, rows, places, 2, info, &internal, &bytes));
    void *buffer;
    CHECK(cudaMalloc(&buffer, bytes + internal));
    CHECK(cusolverSpDcsrqrsvBatched(handle, 4, 4, 10, general, batch, rows, places, bs, xs, 2, info, buffer));
    std::vector<double> of_batch(8);
    CHECK(cudaMemcpy(of_batch.data(), xs, 8 * sizeof(double), cudaMemcpyDeviceToHost));
    show("batch:", of_batch);

    std::vector<int> order(4);
    CHECK(cusolverSpXcsrsymrcmHost(handle, 4, 10, general, offsets.data(), columns.data(), order.data()));
    std::sort(order.begin(), order.end());
    std::printf("order: %d %d %d %d\n", order[0], order[1], order[2], order[3]);
    // Its rows the other way around, and where each number was.
    std::vector<int> turned = {3, 2, 1, 0}, were(10);
    for (int i = 0; i < 10; i++) were[i] = i;
    CHECK(cusolverSpXcsrperm_bufferSizeHost(handle, 4, 4, 10, general, offsets.data(), columns.data(), turned.data(), turned.data(), &bytes));
    std::vector<char> host(bytes);
    CHECK(cusolverSpXcsrpermHost(handle, 4, 4, 10, general, offsets.data(), columns.data(), turned.data(), turned.data(), were.data(), host.data()));
    std::printf("turned: %d %d, first was %d\n", offsets[1], columns[0], were[0]);
    CHECK(cusolverSpDestroyCsrqrInfo(info));
    CHECK(cusolverSpDestroy(handle));
    CHECK(cudaDeviceReset());
}
