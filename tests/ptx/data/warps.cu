// Warp-wide and block-wide collectives.
extern "C" __global__ void warps(int* out, float4* wide) {
    int i = threadIdx.x;
    int predicate, value = out[i];
    value += __shfl_down_sync(0xffffffffu, value, 4);
    value += __match_all_sync(0xffffffffu, value, &predicate) + predicate;
    value += __ballot_sync(0xffffffffu, value > 3) + __popc(__activemask());
    __syncwarp();
    value += __syncthreads_count(value > 2) + __syncthreads_or(value > 9);
    float4 v = wide[i];
    v.x += v.w;
    wide[i + 1] = v;
    out[i] = value + (int)clock64();
}
