// Control flow: nested loops left by break, continue and return, a switch, a loop without end condition.
extern "C" __global__ void nested(float* out, const float* in, int n) {
    for (int i = 0; i < n; i++) {
        if (in[i] > 3.0f)
            continue;
        if (in[i] > 7.0f)
            break;
        for (int j = 0; j < i; j++) {
            if (in[j] < 0.0f)
                return;
            if (in[j] == 2.0f)
                break;
            if (in[j] == 1.0f)
                continue;
            out[j] += in[i];
        }
        out[i] = 1.0f;
    }
    out[n] = 2.0f;
}

extern "C" __global__ void select_one(int* out, int n) {
    switch (n) {
    case 0: out[0] += 5; break;
    case 1: out[1] *= 3; break;
    case 2: out[2] = n / out[3]; break;
    case 3: out[4] -= out[5]; break;
    case 4: out[6] = __clz(out[7]);
    case 5: out[8] ^= 3; break;
    case 6: __trap(); break;
    default: out[9] = 1;
    }
}

extern "C" __global__ void collatz(int* out) {
    unsigned value = threadIdx.x + 1;
    int steps = 0;
    while (true) {
        if (value == 1)
            break;
        value = value & 1 ? 3 * value + 1 : value / 2;
        ++steps;
    }
    out[threadIdx.x] = steps;
}

extern "C" __global__ void tiles(float* out, const float* in, int n) {
    __shared__ float tile[64];
    float sum = 0.0f;
    for (int start = 0; start < n; start += 64) {
        tile[threadIdx.x] = in[start + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 64; ++k)
            sum += tile[k] * tile[63 - k];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
