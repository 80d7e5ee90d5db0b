// ./scores scores.bin < table.txt
// Write the kernels, their launches and the copies.  Build with:  nvcc -o scores starter.cu
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
}

__global__ void score(const float *table, const float *mean, const float *deviation, float *scores, int rows, int columns)
{
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

    // Here the work is done on the device.

    print_row("means:", mean);
    print_row("deviations:", deviation);
    write_scores(argv[1], scores);
    return 0;
}
