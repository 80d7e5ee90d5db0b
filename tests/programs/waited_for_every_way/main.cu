// Results are used as soon as they may be, and no sooner: by every call that waits.
#include <cstdio>
#include <vector>
#define CHECK(call) do { cudaError_t err = (call); if (err != cudaSuccess) { printf("%d: %s\n", __LINE__, cudaGetErrorString(err)); return 1; } } while (0)
__global__ void set(int *p, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = value;
}
static int total(const int *p, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += p[i];
    return sum;
}
static int told;
static void CUDART_CB tell(void *data) { told = ((int *)data)[0]; }
int main() {
    const int n = 2048, half = n / 2;
    const size_t bytes = n * sizeof(int);
    int *h, *d, *m, *mapped;
    CHECK(cudaMallocHost(&h, bytes));
    CHECK(cudaMalloc(&d, bytes));
    CHECK(cudaMallocManaged(&m, bytes));
    CHECK(cudaHostAlloc(&mapped, bytes, cudaHostAllocMapped));
    cudaStream_t s, t;
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    cudaEvent_t e, f;
    CHECK(cudaEventCreate(&e));
    CHECK(cudaEventCreateWithFlags(&f, cudaEventDisableTiming));
    // a stream is waited for
    set<<<n / 256, 256, 0, s>>>(d, n, 1);
    CHECK(cudaMemcpyAsync(h, d, bytes, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    printf("%d", total(h, n));
    // an event behind the first half: only that is used before the stream is waited for
    set<<<n / 256, 256, 0, t>>>(d, n, 2);
    CHECK(cudaMemcpyAsync(h, d, bytes / 2, cudaMemcpyDeviceToHost, t));
    CHECK(cudaEventRecord(e, t));
    CHECK(cudaMemcpyAsync(h + half, d + half, bytes / 2, cudaMemcpyDeviceToHost, t));
    CHECK(cudaEventSynchronize(e));
    printf(" %d", total(h, half));
    CHECK(cudaStreamSynchronize(t));
    printf(" %d", total(h, n));
    // another stream waits for the event, and the host for that stream
    set<<<n / 256, 256, 0, t>>>(d, n, 3);
    CHECK(cudaEventRecord(f, t));
    CHECK(cudaStreamWaitEvent(s, f, 0));
    CHECK(cudaMemcpyAsync(h, d, bytes, cudaMemcpyDeviceToHost, s));
    CHECK(cudaStreamSynchronize(s));
    printf(" %d", total(h, n));
    // a stream is asked until it is ready
    set<<<n / 256, 256, 0, s>>>(m, n, 4);
    while (cudaStreamQuery(s) == cudaErrorNotReady) { }
    printf(" %d", total(m, n));
    // a blocking copy of the default stream waits for streams that block
    set<<<n / 256, 256, 0, s>>>(m, n, 5);
    CHECK(cudaMemcpy(h, m, bytes, cudaMemcpyDefault));
    printf(" %d %d", total(h, n), total(m, n));
    // memory that can be paged: the copy itself waits
    std::vector<int> v(n);
    set<<<n / 256, 256, 0, s>>>(d, n, 6);
    CHECK(cudaMemcpyAsync(v.data(), d, bytes, cudaMemcpyDeviceToHost, s));
    printf(" %d", total(v.data(), n));
    // the host uses the half that the kernel leaves alone
    set<<<half / 256, 256>>>(mapped, half, 7);
    for (int i = half; i < n; i++) mapped[i] = 1;
    CHECK(cudaDeviceSynchronize());
    printf(" %d", total(mapped, n));
    // a function that the stream calls
    set<<<n / 256, 256, 0, s>>>(d, n, 8);
    CHECK(cudaMemcpyAsync(h, d, bytes, cudaMemcpyDeviceToHost, s));
    CHECK(cudaLaunchHostFunc(s, tell, h));
    CHECK(cudaStreamSynchronize(s));
    printf(" %d", told);
    // freeing waits for the device
    set<<<n / 256, 256>>>(m, n, 9);
    CHECK(cudaFree(d));
    printf(" %d\n", total(m, n));
    CHECK(cudaFree(m));
    CHECK(cudaFreeHost(h));
    CHECK(cudaFreeHost(mapped));
    CHECK(cudaStreamDestroy(s));
    CHECK(cudaStreamDestroy(t));
    CHECK(cudaEventDestroy(e));
    CHECK(cudaEventDestroy(f));
}
