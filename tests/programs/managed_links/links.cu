#include <cstdio>
#include <cstring>
// pointers to managed memory that a kernel stores, for the host and for another kernel
struct Item { int key; Item *next; };
__device__ Item *top;
__global__ void link(Item *items, int n, Item **first) {
    int i = threadIdx.x;
    items[i].key = i * i;
    items[i].next = i + 1 < n ? &items[i + 1] : nullptr;
    if (i == 0) *first = top = items;
}
__global__ void count(const Item *end, int *found) {
    *found = 0;
    for (const Item *p = top; p != end; p = p->next) ++*found;
}
int main() {
    Item *items, **first;
    cudaMallocManaged(&items, 8 * sizeof(Item));
    cudaMallocManaged(&first, sizeof(Item *));
    memset(items, 0, 8 * sizeof(Item));
    *first = nullptr;
    link<<<1, 8>>>(items, 8, first);
    cudaDeviceSynchronize();
    int total = 0;
    for (Item *p = *first; p; p = p->next) total += p->key;
    int *found;
    cudaMallocManaged(&found, sizeof(int));
    count<<<1, 1>>>(&items[5], found);
    cudaDeviceSynchronize();
    printf("%d %d\n", total, *found);
}
