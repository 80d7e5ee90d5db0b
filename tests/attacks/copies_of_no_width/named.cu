@{kernels}@
int main()
{
    char *a, *b;
    cudaMalloc(&a, 1024);
    cudaMalloc(&b, 1024);
    for (int i = 0; i < 1000; ++i)
        cudaMemcpy2D(a, 0, b, 0, 0, 1 << 22, cudaMemcpyDeviceToDevice);
    @{launches}@
}
