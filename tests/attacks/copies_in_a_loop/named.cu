@{kernels}@
int main()
{
    const size_t bytes = 500u << 20;
    std::vector<char> host(bytes);
    char *a;
    cudaMalloc(&a, bytes);
    for (int i = 0; i < 1000; ++i)
        cudaMemcpy(a, host.data(), bytes, cudaMemcpyHostToDevice);
    @{launches}@
}
