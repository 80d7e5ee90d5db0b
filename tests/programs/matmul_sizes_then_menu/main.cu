/* Lab: a product of two matrices in three ways.  The user types the sizes, then which way. */
#include <stdio.h>
#include <stdlib.h>

__global__ void by_rows(int *x, int *y, int *z, int inner, int wide) {
    int r = threadIdx.x;
    for (int c = 0; c < wide; c++) {
        int total = 0;
        for (int k = 0; k < inner; k++) total += x[r * inner + k] * y[k * wide + c];
        z[r * wide + c] = total;
    }
}

__global__ void by_elements(int *x, int *y, int *z, int inner) {
    int r = threadIdx.y, c = threadIdx.x, total = 0;
    for (int k = 0; k < inner; k++) total += x[r * inner + k] * y[k * blockDim.x + c];
    z[r * blockDim.x + c] = total;
}

static void fill(int *at, int count) {
    for (int i = 0; i < count; i++) at[i] = i % 7;
}

int main() {
    int high, inner, wide, way;
    printf("rows of the first: ");
    scanf("%d", &high);
    printf("its columns: ");
    scanf("%d", &inner);
    printf("columns of the second: ");
    scanf("%d", &wide);
    int *x = (int *)malloc(high * inner * sizeof(int));
    int *y = (int *)malloc(inner * wide * sizeof(int));
    int *z = (int *)calloc(high * wide, sizeof(int));
    fill(x, high * inner);
    fill(y, inner * wide);
    int *dx, *dy, *dz;
    cudaMalloc((void **)&dx, high * inner * sizeof(int));
    cudaMalloc((void **)&dy, inner * wide * sizeof(int));
    cudaMalloc((void **)&dz, high * wide * sizeof(int));
    cudaMemcpy(dx, x, high * inner * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(dy, y, inner * wide * sizeof(int), cudaMemcpyHostToDevice);
    printf("\n1 rows\n2 elements\n? ");
    scanf("%d", &way);
    switch (way) {
        case 1:
            by_rows<<<1, high>>>(dx, dy, dz, inner, wide);
            break;
        case 2: {
            dim3 all(wide, high);
            by_elements<<<1, all>>>(dx, dy, dz, inner);
            break;
        }
        default:
            printf("no such way\n");
            return 1;
    }
    if (cudaGetLastError() != cudaSuccess) printf("too many threads\n");
    cudaMemcpy(z, dz, high * wide * sizeof(int), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int r = 0; r < high; r++)
        for (int c = 0; c < wide; c++) {
            int total = 0;
            for (int k = 0; k < inner; k++) total += x[r * inner + k] * y[k * wide + c];
            wrong += total != z[r * wide + c];
        }
    printf("%d wrong\n", wrong);
    cudaFree(dx);
    cudaFree(dy);
    cudaFree(dz);
    free(x);
    free(y);
    free(z);
    return 0;
}
