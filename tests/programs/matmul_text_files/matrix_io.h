#pragma once
/* Matrices as text: the first line has rows and columns, then the elements follow. */
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int rows, cols;
    float *data;
} matrix_t;

static inline matrix_t matrix_new(int rows, int cols)
{
    matrix_t m;
    m.rows = rows;
    m.cols = cols;
    m.data = (float *)calloc((size_t)rows * cols, sizeof(float));
    if (!m.data) {
        perror("calloc");
        exit(1);
    }
    return m;
}

static inline void matrix_free(matrix_t *m)
{
    free(m->data);
    m->data = NULL;
}

static inline int matrix_read(const char *name, matrix_t *out)
{
    FILE *f = fopen(name, "r");
    int rows, cols, i;
    if (!f) {
        fprintf(stderr, "cannot open %s\n", name);
        return -1;
    }
    if (fscanf(f, "%d %d", &rows, &cols) != 2 || rows < 1 || cols < 1) {
        fprintf(stderr, "%s: no sizes\n", name);
        fclose(f);
        return -2;
    }
    *out = matrix_new(rows, cols);
    for (i = 0; i < rows * cols; i++) {
        if (fscanf(f, "%f", &out->data[i]) != 1) {
            fprintf(stderr, "%s: element %d is missing\n", name, i);
            fclose(f);
            matrix_free(out);
            return -3;
        }
    }
    fclose(f);
    return 0;
}

static inline int matrix_write(const char *name, const matrix_t *m)
{
    FILE *f = fopen(name, "w");
    int i, j;
    if (!f)
        return -1;
    fprintf(f, "%d %d\n", m->rows, m->cols);
    for (i = 0; i < m->rows; i++) {
        for (j = 0; j < m->cols; j++)
            fprintf(f, j ? " %g" : "%g", m->data[i * m->cols + j]);
        fputc('\n', f);
    }
    return fclose(f);
}
