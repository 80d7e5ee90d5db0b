#pragma once
__global__ void flipPlain(const float *from, float *to, int n);
