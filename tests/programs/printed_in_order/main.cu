// What device code prints comes where the host waits for it, behind what the host has printed meanwhile.
#include <stdio.h>
#include <iostream>

__global__ void say(int n) {
    printf("device %d\n", n);
}

int main() {
    int here = 0, *there;
    cudaMalloc(&there, sizeof(int));
    cudaStream_t one, other;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEvent_t ended;
    cudaEventCreate(&ended);
    printf("begin\n");
    say<<<1, 1>>>(1);
    std::cout << "launched 1\n";
    cudaDeviceSynchronize();
    printf("waited for the device\n");
    say<<<1, 1>>>(2);
    say<<<1, 1>>>(3);
    printf("launched 2 and 3\n");
    cudaMemcpy(there, &here, sizeof(int), cudaMemcpyHostToDevice);
    printf("copied\n");
    // Of two streams at once it is not known which prints first.
    say<<<1, 1, 0, one>>>(4);
    printf("launched 4\n");
    cudaStreamSynchronize(one);
    printf("waited for a stream\n");
    say<<<1, 1, 0, other>>>(5);
    cudaEventRecord(ended, other);
    printf("launched 5\n");
    cudaEventSynchronize(ended);
    printf("waited for an event\n");
    say<<<1, 1>>>(6);
    cudaMemset(there, 0, sizeof(int));
    printf("launched 6\n");
    cudaFree(there);
    printf("freed\n");
    cudaStreamDestroy(one);
    cudaStreamDestroy(other);
    cudaEventDestroy(ended);
    say<<<1, 1>>>(7);
    printf("launched 7, and waited for nothing\n");
    return 0;
}
