#include <stdio.h>
void fill(int n) { printf("fill %d\n", n); }
