#include <iostream>
#include <opencv2/opencv.hpp>
__global__ void gray(const uchar3 *in, unsigned char *out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 0.299f * in[i].z + 0.587f * in[i].y + 0.114f * in[i].x; }
int main(int argc, char **argv) { cv::Mat m = cv::imread(argv[1]); std::cout << m.rows << "\n"; }
