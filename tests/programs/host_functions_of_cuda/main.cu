// Functions that CUDA's headers and g++ give the host, and memory that nobody has written.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <omp.h>

void handler(int signal) { printf("signal %d\n", signal); }

__global__ void print_pointers() { printf("%p %p\n", (void *)0, (void *)16); }

int main() {
    printf("%.6f %.6f %.6f %.6f\n", normcdf(0.5), normcdfinv(0.3), erfcx(1.0), erfinv(0.4));
    printf("%.6f %.6f %.6f %.6f\n", rcbrt(8.0), sinpi(0.25), cospi(1.0), erfcinv(1.7));
    printf("%.5f %.5f %.5f\n", normcdff(1.0f), rsqrtf(4.0f), erfcxf(0.5f));
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_IGN);
    printf("%d\n", raise(SIGUSR1));
    struct sigaction action = {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    printf("%d %d\n", sigaction(SIGINT, &action, NULL), sigaction(SIGKILL, &action, NULL));
    raise(SIGINT);
    omp_lock_t lock;
    omp_init_lock(&lock);
    printf("%d", omp_test_lock(&lock));
    printf(" %d\n", omp_test_lock(&lock));
    omp_unset_lock(&lock);
    printf("%d %d\n", omp_in_parallel(), omp_get_level());
    int count = 1000000;
    printf("%.2f MB\n", count * sizeof(float) / 1e6);
    float *unwritten = (float *)malloc(count * sizeof(float));
    printf("%.2f\n", unwritten[0]);
    free(unwritten);
    print_pointers<<<1, 1>>>();
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    printf("%s: %s\n", cudaGetErrorName(cudaErrorMpsServerNotReady), cudaGetErrorString(cudaErrorMpsServerNotReady));
    fflush(stdout);
    raise(SIGTERM);
    printf("not reached\n");
    return 0;
}
