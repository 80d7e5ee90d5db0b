/*
 * Zadanie 5. Zbior Mandelbrota.
 *
 * z(0) = 0, z(k+1) = z(k)^2 + c; punkt c nalezy do zbioru, jezeli |z(k)| <= 2 dla wszystkich k < LIMIT.
 *
 * Trzy podzialy pracy:
 *   1) jeden watek liczy jeden piksel,
 *   2) jeden watek liczy caly wiersz,
 *   3) watki biora kolejne piksele z kolejki (operacja atomowa).
 *
 * Obraz zapisywany jest w formacie PPM (P6).
 */
// Fraktal Mandelbrota: obraz PPM, wynik z GPU porownany z CPU, trzy sposoby podzialu pracy.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WIDTH 48
#define HEIGHT 32
#define LIMIT 40

typedef struct { double re, im; } complex_t;

typedef struct
{
    unsigned char r, g, b;
} pixel_t;

static const double LEFT = -2.2, RIGHT = 0.8, TOP = 1.1, BOTTOM = -1.1;

__device__ __host__ int escape(complex_t c, int limit)
{
    complex_t z;
    int k;
    z.re = 0;
    z.im = 0;
    for (k = 0; k < limit; k++)
    {
        double re = z.re * z.re - z.im * z.im + c.re;
        z.im = 2 * z.re * z.im + c.im;
        z.re = re;
        if (z.re * z.re + z.im * z.im > 4)
            break;
    }
    return k;
}

__device__ __host__ complex_t at(int x, int y, double left, double right, double top, double bottom)
{
    complex_t c;
    c.re = left + (right - left) * x / WIDTH;
    c.im = top + (bottom - top) * y / HEIGHT;
    return c;
}

/* watek na piksel */
__global__ void by_pixel(int *out, double left, double right, double top, double bottom)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < WIDTH && y < HEIGHT)
        out[y * WIDTH + x] = escape(at(x, y, left, right, top, bottom), LIMIT);
}

/* watek na wiersz */
__global__ void by_row(int *out, double left, double right, double top, double bottom)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= HEIGHT)
        return;
    for (int x = 0; x < WIDTH; x++)
        out[y * WIDTH + x] = escape(at(x, y, left, right, top, bottom), LIMIT);
}

/* kolejka: kazdy watek bierze nastepny piksel */
__device__ int next_pixel = 0;

__global__ void by_queue(int *out, double left, double right, double top, double bottom)
{
    for (;;)
    {
        int k = atomicAdd(&next_pixel, 1);
        if (k >= WIDTH * HEIGHT)
            return;
        out[k] = escape(at(k % WIDTH, k / WIDTH, left, right, top, bottom), LIMIT);
    }
}

static void on_cpu(int *out)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            out[y * WIDTH + x] = escape(at(x, y, LEFT, RIGHT, TOP, BOTTOM), LIMIT);
}

static pixel_t colour(int k)
{
    pixel_t p;
    if (k == LIMIT)
    {
        p.r = p.g = p.b = 0;
        return p;
    }
    p.r = (unsigned char)(k * 255 / LIMIT);
    p.g = (unsigned char)(k * 127 / LIMIT);
    p.b = (unsigned char)(255 - k * 255 / LIMIT);
    return p;
}

static int save(const char *name, const int *data)
{
    FILE *f = fopen(name, "wb");
    if (f == NULL)
        return 0;
    fprintf(f, "P6\n%d %d\n255\n", WIDTH, HEIGHT);
    for (int k = 0; k < WIDTH * HEIGHT; k++)
    {
        pixel_t p = colour(data[k]);
        if (fwrite(&p, sizeof p, 1, f) != 1)
        {
            fclose(f);
            return 0;
        }
    }
    return fclose(f) == 0;
}

static long size_of(const char *name)
{
    long size;
    FILE *f = fopen(name, "rb");
    if (f == NULL)
        return -1;
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    fclose(f);
    return size;
}

static int compare(const int *a, const int *b)
{
    int different = 0;
    for (int k = 0; k < WIDTH * HEIGHT; k++)
        if (a[k] != b[k])
            different++;
    return different;
}

int main(void)
{
    const size_t bytes = WIDTH * HEIGHT * sizeof(int);
    int *wynik = (int *)malloc(bytes), *wzor = (int *)malloc(bytes), *dev = NULL, inside = 0;
    const char *opis[3] = {"watek na piksel", "watek na wiersz", "kolejka"};
    cudaError_t blad = cudaMalloc((void **)&dev, bytes);
    if (blad != cudaSuccess)
    {
        fprintf(stderr, "%s\n", cudaGetErrorString(blad));
        return EXIT_FAILURE;
    }
    clock_t poczatek = clock();
    on_cpu(wzor);
    clock_t koniec = clock();

    for (int sposob = 0; sposob < 3; sposob++)
    {
        cudaMemset(dev, 0xff, bytes);
        switch (sposob)
        {
        case 0:
            by_pixel<<<dim3(WIDTH / 16, HEIGHT / 8), dim3(16, 8)>>>(dev, LEFT, RIGHT, TOP, BOTTOM);
            break;
        case 1:
            by_row<<<1, HEIGHT>>>(dev, LEFT, RIGHT, TOP, BOTTOM);
            break;
        case 2:
            by_queue<<<4, 32>>>(dev, LEFT, RIGHT, TOP, BOTTOM);
            break;
        }
        blad = cudaGetLastError();
        if (blad == cudaSuccess)
            blad = cudaMemcpy(wynik, dev, bytes, cudaMemcpyDeviceToHost);
        if (blad != cudaSuccess)
        {
            fprintf(stderr, "%s: %s\n", opis[sposob], cudaGetErrorString(blad));
            return EXIT_FAILURE;
        }
        /* zaokraglenia moga sie roznic na brzegu zbioru */
        printf("%s: %s\n", opis[sposob], compare(wynik, wzor) <= 3 ? "zgodne" : "niezgodne");
    }
    for (int k = 0; k < WIDTH * HEIGHT; k++)
        inside += wynik[k] == LIMIT;
    printf("w zbiorze: %s\n", inside > 100 && inside < WIDTH * HEIGHT / 2 ? "rozsadnie" : "nierozsadnie");
    if (!save("mandelbrot.ppm", wynik))
        printf("nie zapisano\n");
    printf("plik: %ld bajtow%s\n", size_of("mandelbrot.ppm"), koniec >= poczatek ? "" : "?");
    cudaFree(dev);
    free(wynik);
    free(wzor);
    return EXIT_SUCCESS;
}
