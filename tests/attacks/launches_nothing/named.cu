@{kernels}@
int main() { printf("passed\n"); }
