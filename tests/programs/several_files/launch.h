#ifndef LAUNCH_H
#define LAUNCH_H
#define BLOCK 32
void square(float* h, int n);
#endif
