/*=============================================================================
   Wygladzanie sygnalu - zadanie 2
   Filtr sredniej ruchomej o promieniu R, wersja zwykla i z pamiecia wspolna.

   Uzycie:  signal [-n dlugosc] [-s ziarno] [-p plik.csv] [-q]
 =============================================================================*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ctype.h>
#include <math.h>
#include <time.h>
#include <sys/time.h>
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

#ifndef R
#define R 3
#endif
#ifndef BLOK
#define BLOK 256
#endif
#define OKNO (2 * R + 1)
#define DZIEL_W_GORE(a, b) (((a) % (b)) ? ((a) / (b) + 1) : ((a) / (b)))

#ifdef DEBUG
#define SLEDZ(...) fprintf(stderr, __VA_ARGS__)
#else
#define SLEDZ(...) ((void)0)
#endif

#define SPRAWDZ(wyrazenie, opis)                                              \
    do {                                                                      \
        cudaError_t blad__ = (wyrazenie);                                     \
        SLEDZ("%s -> %d\n", #wyrazenie, (int)blad__);                         \
        if (blad__ != cudaSuccess) {                                          \
            fprintf(stderr, "[%s:%d] %s: %s (%d)\n", __FILE__, __LINE__,      \
                    opis, cudaGetErrorString(blad__), (int)blad__);           \
            cudaDeviceReset();                                                \
            exit(EXIT_FAILURE);                                               \
        }                                                                     \
    } while (0)

/* co sie dzieje na brzegu: element przepisujemy bez zmian */
#define NA_BRZEGU(i, n) ((i) < R || (i) >= (n) - R)

/*----------------------------------------------------------------------------- jadra */
__global__ void filtrZwykly(const float *we, float *wy, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        if (NA_BRZEGU(i, n)) {
            wy[i] = we[i];
        } else {
            float suma = 0.0f;
            int k;
            for (k = 0; k < OKNO; ++k)
                suma += we[i - R + k];
            wy[i] = suma / OKNO;
        }
    }
}

__global__ void filtrWspolny(const float *we, float *wy, int n)
{
    __shared__ float bufor[BLOK + 2 * R];
    int lokalny = threadIdx.x + R;
    int i = blockIdx.x * BLOK + threadIdx.x;

    if (i < n)
        bufor[lokalny] = we[i];
    if (threadIdx.x < R) {
        if (i >= R)
            bufor[lokalny - R] = we[i - R];
        if (i + BLOK < n)
            bufor[lokalny + BLOK] = we[i + BLOK];
    }
    /* watki z innych wiazek mogly jeszcze nie wpisac swoich elementow */
    if (i < n) {
        if (NA_BRZEGU(i, n)) {
            wy[i] = bufor[lokalny];
        } else {
            float suma = 0.0f;
            int k;
            for (k = -R; k <= R; ++k)
                suma += bufor[lokalny + k];
            wy[i] = suma / OKNO;
        }
    }
}

/*----------------------------------------------------------------------------- procesor */
static void filtrCPU(const float *we, float *wy, int n)
{
    int i, k;
    for (i = 0; i < n; ++i) {
        if (NA_BRZEGU(i, n)) {
            wy[i] = we[i];
            continue;
        }
        wy[i] = 0.0f;
        for (k = -R; k <= R; ++k)
            wy[i] += we[i + k];
        wy[i] /= OKNO;
    }
}

static double teraz(void)
{
    struct timeval tv;
    gettimeofday(&tv, NULL);
    return tv.tv_sec * 1e3 + tv.tv_usec * 1e-3;
}

/*----------------------------------------------------------------------------- opcje */
struct opcje {
    int n;
    unsigned ziarno;
    char plik[128];
    int cicho;
};

static void uzycie(const char *program)
{
    fprintf(stderr, "uzycie: %s [-n dlugosc] [-s ziarno] [-p plik.csv] [-q]\n", program);
    exit(2);
}

static int liczba(const char *napis, const char *program)
{
    const char *z;
    for (z = napis; *z; ++z)
        if (!isdigit((unsigned char)*z))
            uzycie(program);
    return atoi(napis);
}

static struct opcje czytajOpcje(int argc, char **argv)
{
    struct opcje o = {4000, 12345u, "", 0};
    int i = 1;
    while (i < argc) {
        const char *arg = argv[i++];
        if (arg[0] != '-' || strlen(arg) != 2)
            uzycie(argv[0]);
        switch (arg[1]) {
        case 'q':
            o.cicho = 1;
            break;
        case 'n':
        case 's':
        case 'p':
            if (i == argc)
                uzycie(argv[0]);
            if (arg[1] == 'n')
                o.n = liczba(argv[i], argv[0]);
            else if (arg[1] == 's')
                o.ziarno = (unsigned)liczba(argv[i], argv[0]);
            else
                strncpy(o.plik, argv[i], sizeof o.plik - 1);
            ++i;
            break;
        default:
            uzycie(argv[0]);
        }
    }
    if (o.n < OKNO)
        uzycie(argv[0]);
    return o;
}

/*----------------------------------------------------------------------------- pomiar */
typedef void (*jadro_t)(const float *, float *, int);

static int zmierz(const char *nazwa, jadro_t jadro, const float *h_we, float *h_wy, const float *wzor, int n, double *ms)
{
    float *d_we = NULL, *d_wy = NULL;
    size_t bajty = (size_t)n * sizeof(float);
    int i, zle = 0;
    double poczatek;

    SPRAWDZ(cudaMalloc((void **)&d_we, bajty), "cudaMalloc we");
    SPRAWDZ(cudaMalloc((void **)&d_wy, bajty), "cudaMalloc wy");
    SPRAWDZ(cudaMemcpy(d_we, h_we, bajty, cudaMemcpyHostToDevice), "kopia na karte");
    SPRAWDZ(cudaDeviceSynchronize(), "przed pomiarem");
    poczatek = teraz();
    jadro<<<DZIEL_W_GORE(n, BLOK), BLOK>>>(d_we, d_wy, n);
    SPRAWDZ(cudaGetLastError(), nazwa);
    SPRAWDZ(cudaDeviceSynchronize(), nazwa);
    *ms = teraz() - poczatek;
    SPRAWDZ(cudaMemcpy(h_wy, d_wy, bajty, cudaMemcpyDeviceToHost), "kopia z karty");
    for (i = 0; i < n; ++i)
        if (fabsf(h_wy[i] - wzor[i]) > 1e-4f)
            ++zle;
    SPRAWDZ(cudaFree(d_we), "cudaFree we");
    SPRAWDZ(cudaFree(d_wy), "cudaFree wy");
    return zle;
}

int main(int argc, char **argv)
{
    struct opcje o = czytajOpcje(argc, argv);
    float *we = (float *)malloc(o.n * sizeof(float));
    float *wy = (float *)malloc(o.n * sizeof(float));
    float *wzor = (float *)malloc(o.n * sizeof(float));
    const char *nazwy[] = {"zwykly", "wspolny"};
    jadro_t jadra[] = {filtrZwykly, filtrWspolny};
    double czasy[2];
    int i, bledy = 0;

    srand(o.ziarno);
    for (i = 0; i < o.n; ++i)
        we[i] = (float)(rand() % 2000 - 1000) / 10.0f;
    filtrCPU(we, wzor, o.n);
    for (i = 0; i < 2; ++i) {
        int zle = zmierz(nazwy[i], jadra[i], we, wy, wzor, o.n, &czasy[i]);
        if (!o.cicho)
            printf("filtr %-8s n=%d R=%d: %s\n", nazwy[i], o.n, R, zle ? "BLAD" : "zgodny");
        bledy += zle;
    }
    if (o.plik[0]) {
        FILE *csv = fopen(o.plik, "w");
        if (csv) {
            fputs("filtr;n;ms\n", csv);
            for (i = 0; i < 2; ++i)
                fprintf(csv, "%s;%d;%.3f\n", nazwy[i], o.n, czasy[i]);
            fclose(csv);
        }
    }
    free(we);
    free(wy);
    free(wzor);
    return bledy ? 1 : 0;
}
