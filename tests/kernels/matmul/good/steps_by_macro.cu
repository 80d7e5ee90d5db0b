// The steps of the inner loop are a macro that works on global arrays.
constexpr int N = 64, S = 16;
__device__ float A[N * N], B[N * N], C[N * N];

#define STEP(k) s += A[i * N + (k)] * B[(k) * N + j];

__global__ void unrolled()
{
    int i = blockIdx.y * S + threadIdx.y, j = blockIdx.x * S + threadIdx.x;
    float s = 0;
    for (int k = 0; k < N; k += 4) {
        STEP(k) STEP(k + 1) STEP(k + 2) STEP(k + 3)
    }
    C[i * N + j] = s;
}

int main()
{
    unrolled<<<dim3(N / S, N / S), dim3(S, S)>>>();
}
