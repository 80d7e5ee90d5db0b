#include <curand.h>
@{kernels}@
int main()
{
    const size_t count = 225u << 20;
    float *a;
    cudaMalloc(&a, count * sizeof(float));
    curandGenerator_t g;
    curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT);
    for (int i = 0; i < 1000; ++i)
        curandGenerateUniform(g, a, count);
    @{launches}@
}
