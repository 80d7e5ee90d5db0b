// Near what the memory can do for 2×2 matrices: each is 16 bytes, one load of a thread, so that there is nothing to stage.
// A thread has four of them on their way at once.
#define THREADS 128
#define MATRICES 4 // of a thread

// Any count; n is 2.
__global__ void __launch_bounds__(THREADS)
    square_best_two(const float *__restrict__ in, float *__restrict__ out, int count)
{
    const int first = blockIdx.x * (THREADS * MATRICES) + threadIdx.x;
    float4 matrix[MATRICES]; // rows: (x, y), (z, w)
#pragma unroll
    for (int m = 0; m < MATRICES; ++m)
        if (first + m * THREADS < count)
            matrix[m] = __ldcs((const float4 *)in + first + m * THREADS);
#pragma unroll
    for (int m = 0; m < MATRICES; ++m)
        if (first + m * THREADS < count) {
            const float4 q = matrix[m];
            // Read and written once: no use in keeping either in the cache.
            __stcs((float4 *)out + first + m * THREADS,
                   make_float4(q.x * q.x + q.y * q.z, q.x * q.y + q.y * q.w, q.z * q.x + q.w * q.z, q.z * q.y + q.w * q.w));
        }
}
