extern "C" __global__ void scale(int *numbers, int factor) { numbers[threadIdx.x] *= factor; }
