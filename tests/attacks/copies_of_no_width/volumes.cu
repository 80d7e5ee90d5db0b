@{kernels}@
int main()
{
    char *a, *b;
    cudaMalloc(&a, 1024);
    cudaMalloc(&b, 1024);
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(a, 1, 1, 1);
    p.dstPtr = make_cudaPitchedPtr(b, 1, 1, 1);
    p.extent = make_cudaExtent(1, 1, 1 << 22);
    p.kind = cudaMemcpyDeviceToDevice;
    for (int i = 0; i < 1000; ++i)
        cudaMemcpy3D(&p);
    p.extent = make_cudaExtent(0, 1 << 11, 1 << 11);
    for (int i = 0; i < 1000; ++i)
        cudaMemcpy3D(&p);
    @{launches}@
}
