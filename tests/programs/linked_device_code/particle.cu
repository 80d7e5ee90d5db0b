#include "particle.h"

static __device__ int calls = 7;

particle::particle() : position(1, 2, 3), velocity(0.5f, 0.25f, 1), total(0, 0, 0) {}

__host__ __device__ void particle::advance(float dt) {
    velocity.normalize();
    position.x += dt * velocity.x;
    total.x += dt * velocity.x;
    total.y += dt * velocity.y;
    total.z += dt * velocity.z;
    velocity.scramble();
#ifdef __CUDA_ARCH__
    atomicAdd(&hits[0], calls);
#endif
}

__device__ float square(float a) { return twice(a) * a; }

__device__ operation picked = square;
__device__ int hits[2] = {100, 1};
