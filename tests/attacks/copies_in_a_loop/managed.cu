@{kernels}@
int main()
{
    const size_t bytes = 200u << 20;
    for (int i = 0; i < 1000; ++i) {
        char *a;
        if (cudaMallocManaged(&a, bytes) != cudaSuccess)
            continue;
        transposeNaive<<<1, 1>>>((float *)a, (float *)a, 1, 1);
        cudaDeviceSynchronize();
        cudaFree(a);
    }
    @{launches}@
}
