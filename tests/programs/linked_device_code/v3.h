#pragma once

class v3 {
  public:
    float x, y, z;

    v3();
    v3(float a, float b, float c);
    __host__ __device__ void normalize();
    __host__ __device__ void scramble();
    __device__ float len() const;
};
