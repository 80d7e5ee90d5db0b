@{kernels}@
__global__ void long_one(float *@{"p" * 250000}@) { @{"p" * 250000}@[0] = 1; }
int main()
{
    @{launches}@
    long_one<<<1, 1>>>(d_@{"q" * 250000}@);
}
