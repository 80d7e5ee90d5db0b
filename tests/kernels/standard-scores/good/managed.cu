#include <algorithm>
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

std::vector<float> read_table(int &rows, int &columns)
{
    if (scanf("%d %d", &rows, &columns) != 2 || rows < 1 || columns < 1) {
        fprintf(stderr, "no table\n");
        exit(1);
    }
    std::vector<float> table((size_t)rows * columns);
    for (float &number : table)
        if (scanf("%f", &number) != 1) {
            fprintf(stderr, "the table is too short\n");
            exit(1);
        }
    return table;
}

void print_row(const char *name, const std::vector<float> &row)
{
    printf("%s", name);
    for (float number : row)
        printf(" %g", number);
    printf("\n");
}

void write_scores(const char *name, const std::vector<float> &scores)
{
    FILE *file = fopen(name, "wb");
    if (file == NULL || fwrite(scores.data(), sizeof(float), scores.size(), file) != scores.size()) {
        fprintf(stderr, "%s cannot be written\n", name);
        exit(1);
    }
    fclose(file);
}

__global__ void statistics(const float *table, float *mean, float *deviation, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    float sum = 0.0f;
    for (int row = 0; row < rows; ++row)
        sum += table[row * columns + column];
    const float m = sum / rows;
    float squares = 0.0f;
    for (int row = 0; row < rows; ++row) {
        float d = table[row * columns + column] - m;
        squares += d * d;
    }
    mean[column] = m;
    deviation[column] = sqrtf(squares / rows);
}

__global__ void score(const float *table, const float *mean, const float *deviation, float *scores, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < columns && row < rows)
        scores[row * columns + column] = (table[row * columns + column] - mean[column]) / deviation[column];
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s scores.bin < table.txt\n", argv[0]);
        return 1;
    }
    int rows, columns;
    std::vector<float> table = read_table(rows, columns);
    std::vector<float> mean(columns), deviation(columns), scores(table.size());

    float *d_table, *d_mean, *d_deviation, *d_scores;
    CHECK(cudaMallocManaged(&d_table, table.size() * sizeof(float)));
    CHECK(cudaMallocManaged(&d_mean, columns * sizeof(float)));
    CHECK(cudaMallocManaged(&d_deviation, columns * sizeof(float)));
    CHECK(cudaMallocManaged(&d_scores, table.size() * sizeof(float)));
    std::copy(table.begin(), table.end(), d_table);

    statistics<<<(columns + 63) / 64, 64>>>(d_table, d_mean, d_deviation, rows, columns);
    CHECK(cudaGetLastError());
    dim3 block(32, 8);
    dim3 grid((columns + block.x - 1) / block.x, (rows + block.y - 1) / block.y);
    score<<<grid, block>>>(d_table, d_mean, d_deviation, d_scores, rows, columns);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());

    mean.assign(d_mean, d_mean + columns);
    deviation.assign(d_deviation, d_deviation + columns);
    scores.assign(d_scores, d_scores + scores.size());
    CHECK(cudaFree(d_table));
    CHECK(cudaFree(d_mean));
    CHECK(cudaFree(d_deviation));
    CHECK(cudaFree(d_scores));

    print_row("means:", mean);
    print_row("deviations:", deviation);
    write_scores(argv[1], scores);
    return 0;
}
