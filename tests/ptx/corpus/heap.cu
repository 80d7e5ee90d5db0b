// Device code that allocates: lists and arrays of each thread's own, an array that a block shares.

struct Node {
    int value;
    Node* next;
};

extern "C" __global__ void reversed_lists(const int* in, int* out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, count = 1 + t % 7;
    Node* list = nullptr;
    for (int i = 0; i < count; ++i) {
        Node* node = new Node;
        node->value = in[(t + i) % n];
        node->next = list;
        list = node;
    }
    int hash = 0;
    while (list) {
        Node* next = list->next;
        hash = hash * 31 + list->value;
        delete list;
        list = next;
    }
    out[t] = hash;
}

extern "C" __global__ void shared_scratch(const int* in, int* out) {
    __shared__ int* scratch;
    if (threadIdx.x == 0) scratch = (int*)malloc(blockDim.x * sizeof(int));
    __syncthreads();
    if (!scratch) return;
    scratch[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) free(scratch);
}
