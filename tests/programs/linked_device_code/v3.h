#pragma once

class v3 {
  public:
    float x, y, z;

    __host__ __device__ v3();
    __host__ __device__ v3(float a, float b, float c);
    __host__ __device__ void normalize();
    __host__ __device__ void scramble();
    __device__ float len() const;
};
