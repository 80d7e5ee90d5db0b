@{kernels}@
int main()
{
    const size_t bytes = 800u << 20;
    char *a;
    cudaMalloc(&a, bytes);
    for (int i = 0; i < 1000; ++i)
        cudaMemset(a, i + 1, bytes);
    @{launches}@
}
