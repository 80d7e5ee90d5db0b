#include <cstdio>
#include <string>
// managed memory with pointers in it: a list built by the host and walked by the device
struct Managed {
    void *operator new(size_t n) { void *p; cudaMallocManaged(&p, n); cudaDeviceSynchronize(); return p; }
    void operator delete(void *p) { cudaDeviceSynchronize(); cudaFree(p); }
};
struct Node : public Managed { int value; Node *next; Node(int v, Node *n) : value(v), next(n) {} };
__managed__ int total = 100;
__global__ void sum(const Node *head) { int s = 0; for (const Node *p = head; p; p = p->next) s += p->value; total += s; }
__global__ void twice(Node *head) { for (Node *p = head; p; p = p->next) p->value *= 2; }
int main() {
    Node *head = nullptr;
    for (int i = 1; i <= 10; i++) head = new Node(i, head);
    twice<<<1, 1>>>(head);
    sum<<<1, 1>>>(head);
    if (cudaError_t e = cudaDeviceSynchronize()) { printf("%s\n", cudaGetErrorString(e)); return 1; }
    printf("%d %d\n", total, head->value);
    while (head) { Node *next = head->next; delete head; head = next; }
}
