// Input in a folder beside the program, whose path is put together as it runs.
#include <cstdio>
#include <fstream>
#include <string>

int main() {
    std::string folder = "data";
    std::ifstream file(folder + "/" + "numbers.txt");
    int n = 0, sum = 0, x;
    while (file >> x) sum += x, n++;
    printf("%d numbers, %d\n", n, sum);
}
