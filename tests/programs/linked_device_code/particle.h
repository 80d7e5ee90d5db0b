#pragma once

#include "v3.h"

class particle {
    v3 position, velocity, total;

  public:
    particle();
    __host__ __device__ void advance(float dt);
    const v3 &getTotal() const { return total; }
};

typedef float (*operation)(float);
extern __device__ operation picked;
extern __device__ int hits[2];
extern __constant__ float scale;

template <class T> __device__ T twice(T a) { return a + a; }
