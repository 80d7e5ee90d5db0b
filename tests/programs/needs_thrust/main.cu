#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <iostream>
int main() { thrust::device_vector<int> v(100, 1); thrust::sort(v.begin(), v.end()); std::cout << v[0] << "\n"; }
