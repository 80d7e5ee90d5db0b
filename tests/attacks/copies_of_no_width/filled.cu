@{kernels}@
int main()
{
    char *a;
    cudaMalloc(&a, 1024);
    for (int i = 0; i < 1000; ++i)
        cudaMemset2D(a, 0, 7, 0, 1 << 22);
    @{launches}@
}
