#include <cstdio>
// pointers to managed memory: in a table, in a structure by value, and in one that was copied
struct Vector { int n; float *values; };
struct Pair { Vector *left, *right; };
__constant__ Vector kept;
__global__ void add_rows(float **rows, int n, float *sums) {
    for (int i = 0; i < n; i++) sums[threadIdx.x] += rows[i][threadIdx.x];
}
__global__ void scale(Vector v, float by) { if (threadIdx.x < v.n) v.values[threadIdx.x] *= by; }
__global__ void dot(const Pair *pair, float *result) {
    float sum = 0;
    for (int i = 0; i < pair->left->n; i++) sum += pair->left->values[i] * pair->right->values[i] * kept.values[i];
    *result = sum;
}
static float *numbers(int n, float from) {
    float *p;
    cudaMallocManaged(&p, n * sizeof(float));
    for (int i = 0; i < n; i++) p[i] = from + i;
    return p;
}
int main() {
    const int n = 4;
    float **rows, *sums = numbers(n, 0);
    cudaMallocManaged(&rows, 3 * sizeof(float *));
    for (int i = 0; i < 3; i++) rows[i] = numbers(n, 10 * i);
    add_rows<<<1, n>>>(rows, 3, sums);
    Vector v = {n, sums};
    scale<<<1, 32>>>(v, 2);
    Vector *left, *right;
    cudaMallocManaged(&left, sizeof(Vector));
    cudaMallocManaged(&right, sizeof(Vector));
    *left = {n, rows[1]};
    *right = {n, rows[2]};
    Vector third = {n, numbers(n, 1)};
    cudaMemcpyToSymbol(kept, &third, sizeof third);
    Pair *pair, here = {left, right};
    cudaMalloc(&pair, sizeof(Pair));
    cudaMemcpy(pair, &here, sizeof here, cudaMemcpyHostToDevice);
    float *result = numbers(1, 0);
    dot<<<1, 1>>>(pair, result);
    if (cudaError_t e = cudaDeviceSynchronize()) { printf("%s\n", cudaGetErrorString(e)); return 1; }
    for (int i = 0; i < n; i++) printf("%g ", sums[i]);
    printf("%g\n", *result);
}
