// Wygladzanie wektora: srednia z pieciu sasiadow. Dlugosc podaje uzytkownik.
#include <bits/stdc++.h>
using std::cin;
using std::cout;

const int PROMIEN = 2, WATKI = 128;

__global__ void rozmyj(const float *in, float *out, int n)
{
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n)
        return;
    if (i < PROMIEN || i + PROMIEN >= n) {
        out[i] = in[i];
        return;
    }
    float suma = 0;
    for (int k = i - PROMIEN; k <= i + PROMIEN; ++k)
        suma += in[k];
    out[i] = suma / (2 * PROMIEN + 1);
}

// ile blokow po WATKI zmiesci sie w n
static int ileBlokow(int n)
{
    int blokow = 0;
    for (; n >= WATKI; n -= WATKI)
        ++blokow;
    return blokow;
}

int main()
{
    int n = 0;
    cout << "dlugosc: ";
    if (!(cin >> n) || n < 2 * PROMIEN + 1) {
        cout << "zla dlugosc\n";
        return 2;
    }
    float *we = new float[n], *wy = new float[n], *d_we, *d_wy;
    for (int i = 0; i < n; i++)
        we[i] = (i * 37) % 100;
    if (cudaMalloc(&d_we, n * sizeof(float)) || cudaMalloc(&d_wy, n * sizeof(float)))
        return 1;
    cudaMemcpy(d_we, we, n * sizeof(float), cudaMemcpyHostToDevice);
    rozmyj<<<ileBlokow(n), WATKI>>>(d_we, d_wy, n);
    if (cudaGetLastError())
        return 1;
    cudaMemcpy(wy, d_wy, n * sizeof(float), cudaMemcpyDeviceToHost);
    int zle = 0;
    for (int i = PROMIEN; i < n - PROMIEN; i++) {
        float s = we[i - 2] + we[i - 1] + we[i] + we[i + 1] + we[i + 2];
        zle += std::fabs(s / 5 - wy[i]) > 0.01f;
    }
    cout << "zle: " << zle << '\n';
    cudaFree(d_we);
    cudaFree(d_wy);
    delete[] we;
    delete[] wy;
    return 0;
}
