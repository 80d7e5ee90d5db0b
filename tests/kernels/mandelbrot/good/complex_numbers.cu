struct Complex {
    float re, im;
    __device__ Complex(float re, float im) : re(re), im(im) {}
    __device__ Complex operator*(const Complex &o) const { return Complex(re * o.re - im * o.im, re * o.im + im * o.re); }
    __device__ Complex operator+(const Complex &o) const { return Complex(re + o.re, im + o.im); }
    __device__ float norm() const { return re * re + im * im; }
};

__device__ int steps(Complex c, int limit)
{
    Complex z(0, 0);
    for (int k = 0; k < limit; ++k) {
        if (z.norm() > 4.0f)
            return k;
        z = z * z + c;
    }
    return limit;
}

template <int W, int H>
__global__ void picture(int *out, int width, int height, float2 from, float2 to, int limit)
{
    const int col = blockIdx.x * W + threadIdx.x, row = blockIdx.y * H + threadIdx.y;
    if (col < width && row < height) {
        const float re = from.x + (to.x - from.x) * (float(col) / width);
        const float im = from.y + (to.y - from.y) * (float(row) / height);
        out[row * width + col] = steps(Complex(re, im), limit);
    }
}

extern "C" void solve(int *counts, int width, int height, float x0, float y0, float x1, float y1, int limit)
{
    picture<8, 16><<<dim3((width + 7) / 8, (height + 15) / 16), dim3(8, 16)>>>(
        counts, width, height, make_float2(x0, y0), make_float2(x1, y1), limit);
    cudaDeviceSynchronize();
}
