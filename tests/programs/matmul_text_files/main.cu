/*
 * usage: mm A.txt B.txt C.txt
 * Reads two square matrices, multiplies them on the GPU in two ways, compares with the CPU and writes the product.
 */
#include <math.h>
#include <string.h>
#include "matrix_io.h"
#include "kernels.h"

static void multiply_cpu(const matrix_t *a, const matrix_t *b, matrix_t *c)
{
    int i, j, k;
    for (i = 0; i < a->rows; i++)
        for (k = 0; k < a->cols; k++) {
            float x = a->data[i * a->cols + k];
            for (j = 0; j < b->cols; j++)
                c->data[i * c->cols + j] += x * b->data[k * b->cols + j];
        }
}

static float distance(const matrix_t *x, const matrix_t *y)
{
    float worst = 0;
    int i;
    for (i = 0; i < x->rows * x->cols; i++) {
        float d = fabsf(x->data[i] - y->data[i]);
        if (d > worst)
            worst = d;
    }
    return worst;
}

static const struct {
    const char *title;
    multiply_t multiply;
} versions[] = {
    {"simple", multiply_simple},
    {"tiles", multiply_tiles},
};

int main(int argc, char **argv)
{
    const char *names[3] = {"a.txt", "b.txt", "c.txt"};
    matrix_t a, b, c, expected;
    unsigned v;
    int i, status = 0;

    for (i = 1; i < argc && i <= 3; i++)
        names[i - 1] = argv[i];
    if (matrix_read(names[0], &a) || matrix_read(names[1], &b))
        return 2;
    if (a.rows != a.cols || b.rows != b.cols || a.rows != b.rows) {
        fprintf(stderr, "the matrices must be square and of one size\n");
        return 3;
    }
    c = matrix_new(a.rows, b.cols);
    expected = matrix_new(a.rows, b.cols);
    multiply_cpu(&a, &b, &expected);
    for (v = 0; v < sizeof(versions) / sizeof(versions[0]); v++) {
        float ms = 0;
        const char *error;
        memset(c.data, 0, sizeof(float) * c.rows * c.cols);
        error = versions[v].multiply(a.data, b.data, c.data, a.rows, &ms);
        if (error) {
            printf("%s: %s\n", versions[v].title, error);
            status = 4;
        } else if (distance(&c, &expected) > 1e-3f) {
            printf("%s: wrong by %g\n", versions[v].title, distance(&c, &expected));
            status = 5;
        } else {
            printf("%s: right, n = %d\n", versions[v].title, a.rows);
        }
    }
    if (matrix_write(names[2], &c) != 0)
        status = 6;
    if (matrix_read(names[2], &expected) == 0)
        printf("%s: %d x %d, first element %g\n", names[2], expected.rows, expected.cols, expected.data[0]);
    matrix_free(&a);
    matrix_free(&b);
    matrix_free(&c);
    matrix_free(&expected);
    return status;
}
