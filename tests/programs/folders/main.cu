// Folders and files by std::filesystem, in memory, and glibc's reports of errors.
#include <cerrno>
#include <cstdio>
#include <error.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>
#include <algorithm>
namespace fs = std::filesystem;
__global__ void twice(int *a) { a[threadIdx.x] *= 2; }
int main(int argc, char **argv) {
    printf("%d %d\n", fs::exists("input.txt"), fs::exists("nothing.txt"));
    int n = 0; std::ifstream("input.txt") >> n;
    printf("%d bytes, %d\n", (int)fs::file_size("input.txt"), n);
    printf("%d\n", fs::create_directories("out/deep"));
    printf("%d %d\n", fs::create_directory("out"), fs::is_directory("out/deep"));
    int h[4] = {n, 2, 3, 4}, *d; cudaMalloc(&d, sizeof h); cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
    twice<<<1, 4>>>(d); cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost); cudaFree(d);
    for (int i = 0; i < 3; i++) std::ofstream(fs::path("out") / ("r" + std::to_string(i) + ".txt")) << h[i] << "\n";
    std::ofstream("out/deep/x.bin") << "abc";
    std::vector<std::string> names;
    for (const auto &e : fs::directory_iterator("out")) names.push_back(e.path().filename().string() + (e.is_directory() ? "/" : ""));
    std::sort(names.begin(), names.end());
    for (auto &name : names) std::cout << name << "\n";
    size_t total = 0; for (const auto &e : fs::recursive_directory_iterator("out")) if (e.is_regular_file()) total += fs::file_size(e);
    std::cout << total << "\n";
    fs::rename("out/r0.txt", "out/deep/r.txt");
    fs::copy_file("out/r1.txt", "out/copy.txt");
    std::ifstream in("out/copy.txt"); int v; in >> v; std::cout << v << " " << fs::exists("out/r0.txt") << "\n";
    std::cout << fs::path("a/b/../c.tar.gz").lexically_normal() << " " << fs::path("a/b.txt").extension() << " " << fs::path("x").replace_extension(".y") << "\n";
    std::cout << fs::remove("out/r1.txt") << " " << fs::remove("out/r1.txt") << "\n";
    std::error_code ec; fs::remove("out", ec); std::cout << (bool)ec << "\n";
    std::cout << fs::remove_all("out") << " " << fs::exists("out") << "\n";
    try { fs::file_size("nothing.txt"); } catch (const fs::filesystem_error &e) { std::cout << (e.code() == std::errc::no_such_file_or_directory) << "\n"; }
    try { for (auto &e : fs::directory_iterator("nothing")) (void)e; } catch (const fs::filesystem_error &e) { std::cout << "caught " << e.path1() << "\n"; }
    error(0, ENOENT, "cannot open %s", "nothing.txt");
    error_at_line(3, 0, "list.txt", 7, "%d is too much", n);
}
