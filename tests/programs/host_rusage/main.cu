/* Times of the process as C programs take them: getrusage, times; numbers seeded by the system and the process. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <unistd.h>

__global__ void halve(float *x, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n)
        x[i] /= 2;
}

static double used(int who)
{
    struct rusage u;
    if (getrusage(who, &u)) { perror("getrusage"); exit(1); }
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + 1e-6 * (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(void)
{
    const int n = 3000;
    float h[n], *d;
    struct tms before, after;
    struct rlimit stack;
    int i, blocks = n / 256;

    if (n % 256)
        blocks++;
    unsigned seed = 0;
    FILE *random = fopen("/dev/urandom", "rb");
    if (!random || fread(&seed, sizeof seed, 1, random) != 1)
        return 1;
    fclose(random);
    srand(seed ^ getpid() ^ (getppid() << 8));
    for (i = 0; i < n; i++)
        h[i] = 2 * (rand() % 50 + 1);
    double sum = 0, t = used(RUSAGE_SELF);
    clock_t ticks = times(&before);
    for (i = 0; i < n; i++)
        sum += h[i];
    cudaMalloc((void **)&d, sizeof h);
    cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
    halve<<<blocks, 256>>>(d, n);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(d);
    t = used(RUSAGE_SELF) - t;
    ticks = times(&after) - ticks;
    for (i = 0; i < n; i++)
        sum -= 2 * h[i];
    printf("%g left, time went %s\n", sum, t >= 0 && ticks >= 0 && after.tms_utime >= before.tms_utime ? "on" : "back");
    printf("children: %g, a limit: %d\n", used(RUSAGE_CHILDREN), getrlimit(RLIMIT_STACK, &stack));
    return 0;
}
