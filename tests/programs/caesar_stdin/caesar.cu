#include <iostream>
#include <string>
#include <cctype>
// Шифр Цезаря: сдвиг и строка с клавиатуры
__global__ void shift(char *text, int n, int by)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n && text[i] >= 'a' && text[i] <= 'z') text[i] = 'a' + (text[i] - 'a' + by + 26) % 26;
}
int main()
{
    int by;
    std::string line;
    std::cout << "shift? " << std::flush;
    if (!(std::cin >> by)) return 2;
    std::getline(std::cin >> std::ws, line);
    char *d;
    cudaMalloc((void **)&d, line.size());
    cudaMemcpy(d, line.data(), line.size(), cudaMemcpyHostToDevice);
    shift<<<(line.size() + 31) / 32, 32>>>(d, line.size(), by % 26);
    cudaMemcpy(&line[0], d, line.size(), cudaMemcpyDeviceToHost);
    std::cout << line << '\n';
    shift<<<(line.size() + 31) / 32, 32>>>(d, line.size(), -by % 26);
    cudaMemcpy(&line[0], d, line.size(), cudaMemcpyDeviceToHost);
    std::cout << line << std::endl;
    return cudaFree(d);
}
