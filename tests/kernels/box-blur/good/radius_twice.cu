// The radius is a constant, and stands in the sum once more.
#define RADIUS 2
#define BLOCK 128
#define PER_THREAD 4
__global__ void Blur_Kernel_Shared(const float *src, float *dst, int count)
{
    __shared__ float s[BLOCK * PER_THREAD + 2 * RADIUS];
    int start = blockIdx.x * BLOCK * PER_THREAD - RADIUS;
    for (int k = threadIdx.x; k < BLOCK * PER_THREAD + 2 * RADIUS; k += BLOCK)
        if (start + k >= 0 && start + k < count) s[k] = src[start + k];
    __syncthreads();
    for (int e = 0; e < PER_THREAD; ++e) {
        int l = threadIdx.x + e * BLOCK, i = start + RADIUS + l;
        if (i >= count) break;
        if (i < RADIUS || i >= count - RADIUS) dst[i] = s[l + RADIUS];
        else dst[i] = (s[l] + s[l + 1] + s[l + 2] + s[l + 3] + s[l + 4]) / 5;
    }
}

int main()
{
    int count = 1 << 22;
    float *a, *b;
    cudaMalloc(&a, count * 4);
    cudaMalloc(&b, count * 4);
    int per_block = BLOCK * PER_THREAD;
    Blur_Kernel_Shared<<<(count + per_block - 1) / per_block, BLOCK>>>(a, b, count);
}
