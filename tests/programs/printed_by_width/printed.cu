#include <cstdio>
// What x86-64 makes of arguments that are wider or narrower than their conversions: expected.yaml is g++'s output.
__global__ void device_printf(long long value) { printf("device %lld %d\n", value, 5); }
enum Kind { NINE = 9 };
int main() {
    long w = 7;
    int n = 4, got = 0;
    size_t s = sizeof(double);
    char text[8] = "abc", room[6];
    printf("%d %d %d\n", w, n, s);
    printf("%d bytes, %d elements, %f\n", n * sizeof(float), n, 2.5);
    printf("%ld %d|%ld|%ld\n", n, n, -1, -1L);
    printf("[%5d|%-5d|%05d|%+d|% d|%x|%#o|%hhd|%hu|%c|%lu]\n", n, n, n, n, n, -1, 8, 300, 70000, 0x41, ~0UL);
    printf("[%*d|%.*f|%-*s|%5c|%.2s]\n", 6, n, 2, 3.14159, 6, text, 'x', text);
    printf("%s %p %p %d%% %n", text, (void *)0, (void *)16, n, &got);
    printf("%d %5%|\n", got, 3);
    printf("%d %f %d %f %Lf %e %a\n", 1, 2.0, NINE, 4.0f, 2.5L, 1e10, 1.0);
    printf("%f %d %lc%c\n", 1, 2.5, L'w', 'z');
    std::printf("%d %d\n", snprintf(room, sizeof room, "%d-%d-%d", w, 22, 33), sprintf(text, "%u|%d", s, n));
    fprintf(stdout, "%s %s %i\n", room, text, true);
    device_printf<<<1, 1>>>(w);
    cudaDeviceSynchronize();
}
