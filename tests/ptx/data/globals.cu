// Module variables with every kind of initialiser.
struct Pair {
    int* address;
    short low;
    double high;
};

__constant__ float coefficients[4] = {1.0f, 2.0f, 3.0f, -4.0f};
__constant__ int unset[8];
__device__ int table[2][3] = {{1, 2}, {4}};
__device__ int* pointer = &table[1][1];
__device__ const char* names[2] = {"ab", "cde"};
__device__ double real = 1.5;
__device__ float single = -2.5f;
__device__ long long wide = -5;
__device__ unsigned char byte = 200;
__device__ Pair pair = {&table[0][2], -3, 0.25};
__managed__ int managed = 7;
extern __shared__ float dynamic[];

extern "C" __global__ void globals(double* out, int i) {
    dynamic[i] = coefficients[i] + unset[i] + table[i & 1][i % 3];
    out[0] = *pointer + names[i][1] + real + single + wide + byte + *pair.address + pair.low + pair.high + managed;
    out[1] = dynamic[i];
}
