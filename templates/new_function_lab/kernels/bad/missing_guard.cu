// Runs past the end where the number of elements is no multiple of the block.
__global__ void @KERNEL@(@DECLARED@)
{
    const long long @INDEX@ = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    {
@COMPUTED@
    }
}

@SIGNATURE@
{
@BEFORE@    @KERNEL@<<<(@ELEMENTS@ + 255) / 256, 256>>>(@PASSED@);
@AFTER@}
