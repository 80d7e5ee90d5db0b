// Mnożenie macierzy liczb całkowitych; wymiary podaje użytkownik.
#include <cstdlib>
#include <iostream>

#define KAFEL 16

#define SPRAWDZ(wywolanie)                                                              \
    do {                                                                                \
        cudaError_t blad = (wywolanie);                                                 \
        if (blad != cudaSuccess) {                                                      \
            std::cerr << __LINE__ << ": " << cudaGetErrorString(blad) << std::endl;     \
            std::exit(1);                                                               \
        }                                                                               \
    } while (0)

// Dowolne wymiary: wierszy x wspolny razy wspolny x kolumn.
__global__ void ogolne(const int *lewa, const int *prawa, int *wynik, int wierszy, int wspolny, int kolumn)
{
    int w = blockDim.y * blockIdx.y + threadIdx.y;
    int k = blockDim.x * blockIdx.x + threadIdx.x;
    if (w >= wierszy || k >= kolumn)
        return;
    int suma = 0;
    for (int i = 0; i < wspolny; ++i)
        suma += lewa[w * wspolny + i] * prawa[i * kolumn + k];
    wynik[w * kolumn + k] = suma;
}

// Tylko macierze kwadratowe, za to przez pamięć współdzieloną.
__global__ void kwadratowe(const int *lewa, const int *prawa, int *wynik, int bok)
{
    __shared__ int kafel_l[KAFEL][KAFEL], kafel_p[KAFEL][KAFEL];
    int w = KAFEL * blockIdx.y + threadIdx.y;
    int k = KAFEL * blockIdx.x + threadIdx.x;
    int suma = 0;
    for (int kafel = 0; kafel < (bok + KAFEL - 1) / KAFEL; ++kafel) {
        int kl = kafel * KAFEL + threadIdx.x, wp = kafel * KAFEL + threadIdx.y;
        kafel_l[threadIdx.y][threadIdx.x] = w < bok && kl < bok ? lewa[w * bok + kl] : 0;
        kafel_p[threadIdx.y][threadIdx.x] = wp < bok && k < bok ? prawa[wp * bok + k] : 0;
        __syncthreads();
        for (int i = 0; i < KAFEL; ++i)
            suma += kafel_l[threadIdx.y][i] * kafel_p[i][threadIdx.x];
        __syncthreads();
    }
    if (w < bok && k < bok)
        wynik[w * bok + k] = suma;
}

int main()
{
    int wierszy = 0, wspolny = 0, kolumn = 0;
    std::cout << "wiersze, wspolny wymiar, kolumny: ";
    std::cin >> wierszy >> wspolny >> kolumn;
    if (wierszy <= 0 || wspolny <= 0 || kolumn <= 0)
        return 2;

    size_t na_lewa = sizeof(int) * wierszy * wspolny;
    size_t na_prawa = sizeof(int) * wspolny * kolumn;
    size_t na_wynik = sizeof(int) * wierszy * kolumn;
    int *lewa = (int *)malloc(na_lewa), *prawa = (int *)malloc(na_prawa), *wynik = (int *)malloc(na_wynik);
    for (int i = 0; i < wierszy * wspolny; ++i)
        lewa[i] = std::rand() % 100;
    for (int i = 0; i < wspolny * kolumn; ++i)
        prawa[i] = std::rand() % 100;

    int *d_lewa, *d_prawa, *d_wynik;
    SPRAWDZ(cudaMalloc(&d_lewa, na_lewa));
    SPRAWDZ(cudaMalloc(&d_prawa, na_prawa));
    SPRAWDZ(cudaMalloc(&d_wynik, na_wynik));
    SPRAWDZ(cudaMemcpy(d_lewa, lewa, na_lewa, cudaMemcpyHostToDevice));
    SPRAWDZ(cudaMemcpy(d_prawa, prawa, na_prawa, cudaMemcpyHostToDevice));

    dim3 watki(KAFEL, KAFEL);
    unsigned blokow_y = (wierszy + KAFEL - 1) / KAFEL;
    unsigned blokow_x = (kolumn + KAFEL - 1) / KAFEL;
    if (wierszy == wspolny && wspolny == kolumn)
        kwadratowe<<<dim3(blokow_x, blokow_y), watki>>>(d_lewa, d_prawa, d_wynik, wspolny);
    else
        ogolne<<<dim3(blokow_x, blokow_y), watki>>>(d_lewa, d_prawa, d_wynik, wierszy, wspolny, kolumn);
    SPRAWDZ(cudaGetLastError());
    SPRAWDZ(cudaMemcpy(wynik, d_wynik, na_wynik, cudaMemcpyDeviceToHost));

    long roznych = 0;
    for (int w = 0; w < wierszy; ++w)
        for (int k = 0; k < kolumn; ++k) {
            int suma = 0;
            for (int i = 0; i < wspolny; ++i)
                suma += lewa[w * wspolny + i] * prawa[i * kolumn + k];
            roznych += suma != wynik[w * kolumn + k];
        }
    std::cout << (roznych ? "zle" : "dobrze") << ": " << roznych << std::endl;
    cudaFree(d_lewa);
    cudaFree(d_prawa);
    cudaFree(d_wynik);
    free(lewa);
    free(prawa);
    free(wynik);
    return roznych != 0;
}
