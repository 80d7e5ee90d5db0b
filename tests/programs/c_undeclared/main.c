#include <stdio.h>
int main(void) { puts("before"); fill(5); return 0; }
