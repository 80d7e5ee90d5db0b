__host__ __device__ inline float scaled(float x) { return 10 * x; }
