@{kernels}@
int main()
{
    int n = 0;
    cudaDeviceSynchronize();
    if (n)
        transposeNaive<<<1, dim3(32, 32)>>>(nullptr, nullptr, 1, 1);
    printf("passed\n");
}
