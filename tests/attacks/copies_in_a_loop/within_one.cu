@{kernels}@
int main()
{
    const size_t bytes = 300u << 20;
    char *a;
    cudaMalloc(&a, 2 * bytes);
    cudaMemset(a, 1, 2 * bytes);
    for (int i = 0; i < 1000; ++i)
        cudaMemcpyAsync(a + bytes, a, bytes, cudaMemcpyDeviceToDevice);
    @{launches}@
}
