// Size and batch as constants.
#define N 5
const int NUM_MATRICES = 1000;
#define THREADS 64

__global__ void square_naive(const float *in, float *out)
{
    int id = blockIdx.x * THREADS + threadIdx.x;
    if (id < NUM_MATRICES) {
        for (int r = 0; r < N; r++)
            for (int c = 0; c < N; c++) {
                float s = 0;
                for (int k = 0; k < N; k++)
                    s += in[id * N * N + r * N + k] * in[id * N * N + k * N + c];
                out[id * N * N + r * N + c] = s;
            }
    }
}

__global__ void square_smem(const float *in, float *out)
{
    __shared__ float m[THREADS][N * N];
    int id = blockIdx.x * THREADS + threadIdx.x;
    if (id >= NUM_MATRICES)
        return;
    for (int e = 0; e < N * N; e++)
        m[threadIdx.x][e] = in[id * N * N + e];
    for (int r = 0; r < N; r++)
        for (int c = 0; c < N; c++) {
            float s = 0;
            for (int k = 0; k < N; k++)
                s += m[threadIdx.x][r * N + k] * m[threadIdx.x][k * N + c];
            out[id * N * N + r * N + c] = s;
        }
}

int main()
{
    float *a, *b;
    cudaMalloc(&a, NUM_MATRICES * N * N * 4);
    cudaMalloc(&b, NUM_MATRICES * N * N * 4);
    square_naive<<<(NUM_MATRICES + THREADS - 1) / THREADS, THREADS>>>(a, b);
    square_smem<<<(NUM_MATRICES + THREADS - 1) / THREADS, THREADS>>>(a, b);
    return 0;
}
