// The size as a template argument: matrices in registers, a loop that the compiler unrolls.
template <int N>
__global__ void squareSimple(const float *__restrict__ in, float *__restrict__ out, int count)
{
    const int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= count)
        return;
    float a[N * N];
    for (int i = 0; i < N * N; ++i)
        a[i] = in[m * N * N + i];
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            float s = 0;
            for (int k = 0; k < N; ++k)
                s += a[i * N + k] * a[k * N + j];
            out[m * N * N + i * N + j] = s;
        }
}

int main()
{
    const int count = 1000;
    float *a, *b;
    cudaMalloc(&a, count * 64 * 4);
    cudaMalloc(&b, count * 64 * 4);
    squareSimple<8><<<(count + 127) / 128, 128>>>(a, b, count);
    return 0;
}
