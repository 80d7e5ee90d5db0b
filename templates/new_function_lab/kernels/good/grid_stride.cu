// Right in another style: each thread goes on by the size of the whole grid.
__global__ void @KERNEL@(@DECLARED@)
{
    const long long step_ = (long long)gridDim.x * blockDim.x;
    for (long long @INDEX@ = (long long)blockIdx.x * blockDim.x + threadIdx.x; @INDEX@ < @ELEMENTS@; @INDEX@ += step_) {
@COMPUTED@
    }
}

@SIGNATURE@
{
@BEFORE@    @KERNEL@<<<16, 128>>>(@PASSED@);
@AFTER@}
