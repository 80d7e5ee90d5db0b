// Returns while the copies back are still under way.
#define STREAMS 2
#define PIECES 2

__global__ void square_plus_one(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * in[i] + 1;
}

void solve(const float *in, float *out, int n) {
    float *d_in, *d_out;
    cudaStream_t streams[STREAMS];
    cudaMalloc(&d_in, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    cudaHostRegister((void *)in, n * sizeof(float), cudaHostRegisterDefault);
    cudaHostRegister(out, n * sizeof(float), cudaHostRegisterDefault);
    for (int s = 0; s < STREAMS; ++s) cudaStreamCreate(&streams[s]);

    int piece = (n + PIECES - 1) / PIECES;
    for (int first = 0, p = 0; first < n; first += piece, ++p) {
        int count = n - first < piece ? n - first : piece;
        cudaStream_t stream = streams[p % STREAMS];
        cudaMemcpyAsync(d_in + first, in + first, count * sizeof(float), cudaMemcpyHostToDevice, stream);
        square_plus_one<<<(count + 255) / 256, 256, 0, stream>>>(d_in + first, d_out + first, count);
        cudaMemcpyAsync(out + first, d_out + first, count * sizeof(float), cudaMemcpyDeviceToHost, stream);
    }
    for (int s = 0; s < STREAMS; ++s) cudaStreamDestroy(streams[s]);
}
