#include <Windows.h>
#include <cstdio>
__global__ void k(int *x) { *x = 1; }
DWORD WINAPI work(LPVOID given) { return *(int *)given; }
int main() {
    int given = 3;
    HANDLE thread = CreateThread(NULL, 0, work, &given, 0, NULL);
    WaitForSingleObject(thread, INFINITE);
    printf("%lu\n", GetTickCount());
}
