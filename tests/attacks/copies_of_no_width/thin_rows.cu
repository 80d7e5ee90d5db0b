@{kernels}@
int main()
{
    const int rows = 1 << 20;
    char *a, *b;
    cudaMalloc(&a, rows);
    cudaMalloc(&b, rows);
    for (int i = 0; i < 1000; ++i)
        cudaMemcpy2D(a, 1, b, 1, 1, rows, cudaMemcpyDeviceToDevice);
    @{launches}@
}
