#include <curand.h>
@{kernels}@
int main()
{
    const size_t count = 112u << 20;
    double *a;
    cudaMalloc(&a, count * sizeof(double));
    curandGenerator_t g;
    curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT);
    for (int i = 0; i < 1000; ++i)
        curandGenerateNormalDouble(g, a, count, 0, 1);
    @{launches}@
}
