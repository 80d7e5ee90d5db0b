// Near what the memory can do: four elements a thread.  The quads on either side are read as well; they are the
// neighbours' own, so the first-level cache has them and memory is asked once.
#define THREADS 256

// The last elements, which fill no quad, as one.
__device__ __forceinline__ float4 last_quad(const float *in, int count)
{
    const int first = count / 4 * 4;
    return make_float4(first < count ? in[first] : 0.0f, first + 1 < count ? in[first + 1] : 0.0f,
                       first + 2 < count ? in[first + 2] : 0.0f, 0.0f);
}

// Any count; 1 ≤ RADIUS ≤ 4.
template <int RADIUS>
__global__ void __launch_bounds__(THREADS)
    blur_best(const float *__restrict__ in, float *__restrict__ out, int count)
{
    static_assert(1 <= RADIUS && RADIUS <= 4, "a window reaches into the next quad only");
    const int quads = count / 4;
    const int q = blockIdx.x * THREADS + threadIdx.x;
    if (4 * q >= count)
        return;

    const float4 *from = (const float4 *)in;
    const float4 none = make_float4(0, 0, 0, 0);
    const float4 left = q > 0 ? __ldg(from + q - 1) : none;
    const float4 here = q < quads ? __ldg(from + q) : last_quad(in, count);
    const float4 right = q + 1 < quads ? __ldg(from + q + 1) : q + 1 == quads ? last_quad(in, count) : none;
    const float window[12] = {left.x, left.y, left.z,  left.w,  here.x,  here.y,
                              here.z, here.w, right.x, right.y, right.z, right.w};
    float mean[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
        float sum = 0;
#pragma unroll
        for (int k = -RADIUS; k <= RADIUS; ++k)
            sum += window[4 + e + k];
        const int i = 4 * q + e;
        mean[e] = i < RADIUS || i >= count - RADIUS ? window[4 + e] : sum * (1.0f / (2 * RADIUS + 1));
    }
    if (q < quads)
        __stcs((float4 *)out + q, make_float4(mean[0], mean[1], mean[2], mean[3]));
    else
        for (int e = 0; e < count % 4; ++e)
            out[4 * q + e] = mean[e];
}
