// The lab's own function.
__global__ void @KERNEL@(@DECLARED@)
{
    const long long @INDEX@ = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (@INDEX@ < @ELEMENTS@) {
@COMPUTED@
    }
}

@SIGNATURE@
{
@BEFORE@    @KERNEL@<<<(@ELEMENTS@ + 255) / 256, 256>>>(@PASSED@);
@AFTER@}
