// A block for each value; each counts its own by votes of its warps.
__global__ void count(const unsigned char *data, unsigned *bins, int n) {
    __shared__ unsigned total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    unsigned mine = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) mine += __popc(__ballot_sync(__activemask(), data[i] == blockIdx.x));
    if (threadIdx.x % 32 == 0) atomicAdd(&total, mine);
    __syncthreads();
    if (threadIdx.x == 0) bins[blockIdx.x] = total;
}

void solve(const unsigned char *data, unsigned int *bins, int n) {
    count<<<256, 64>>>(data, bins, n);
}
