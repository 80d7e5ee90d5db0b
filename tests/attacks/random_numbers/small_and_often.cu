#include <curand.h>
@{kernels}@
int main()
{
    const size_t count = 1u << 20;
    unsigned *a;
    cudaMalloc(&a, count * sizeof(unsigned));
    curandGenerator_t g;
    curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT);
    for (int i = 0; i < 100000; ++i)
        curandGenerate(g, a, count);
    @{launches}@
}
