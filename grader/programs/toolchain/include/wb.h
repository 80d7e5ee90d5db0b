// The course library of "GPU Teaching Kit" labs, as far as its programs use it: data from text files, logs, timers.
#pragma once
#include "cuda_runtime.h"
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>
struct wbArg_t { std::vector<std::string> inputs; std::string output, expected, type; };
enum wbLog_level { OFF, FATAL, ERROR, WARN, INFO, DEBUG, TRACE };
enum wbTimeKind { Generic, IO, GPU, Copy, Driver, CopyAsync, Compute };
inline wbArg_t wbArg_read(int argc, char **argv) {
    wbArg_t found;
    auto split = [&](const std::string &list) {
        std::stringstream words(list);
        std::string word;
        while (std::getline(words, word, ',')) found.inputs.push_back(word);
    };
    for (int i = 1; i < argc; i++) {
        std::string word = argv[i];
        if (i + 1 < argc && word == "-i") split(argv[++i]);
        else if (i + 1 < argc && word == "-o") found.output = argv[++i];
        else if (i + 1 < argc && word == "-e") found.expected = argv[++i];
        else if (i + 1 < argc && word == "-t") found.type = argv[++i];
        else found.inputs.push_back(word);
    }
    return found;
}
inline std::string wbArg_getInputFile(const wbArg_t &args, int i) { return i < (int)args.inputs.size() ? args.inputs[i] : ""; }
template <class T> inline T *grader_wb_numbers(const std::string &file, int heads, int *sizes) {
    std::ifstream in(file);
    if (!in) {
        fprintf(stderr, "wbImport: there is no file \"%s\"\n", file.c_str());
        exit(1);
    }
    long count = 1;
    for (int i = 0; i < heads; i++) {
        in >> sizes[i];
        count *= sizes[i];
    }
    T *data = (T *)malloc(count * sizeof(T));
    for (long i = 0; i < count; i++) in >> data[i];
    return data;
}
inline void *wbImport(const std::string &file, int *length, const char *type = "Real") {
    return strcmp(type, "Integer") ? (void *)grader_wb_numbers<float>(file, 1, length) : (void *)grader_wb_numbers<int>(file, 1, length);
}
inline void *wbImport(const std::string &file, int *rows, int *columns, const char * = "Real") {
    int sizes[2];
    void *data = grader_wb_numbers<float>(file, 2, sizes);
    *rows = sizes[0];
    *columns = sizes[1];
    return data;
}
template <class T> inline bool grader_wb_solution(const wbArg_t &args, const T *data, int rows, int columns, bool is_matrix) {
    if (!args.output.empty()) {
        std::ofstream out(args.output);
        out.precision(9);
        out << rows;
        if (is_matrix) out << " " << columns;
        for (long i = 0; i < (long)rows * columns; i++) out << (i % columns ? " " : "\n") << +data[i];
        out << "\n";
    }
    std::string file = !args.expected.empty() ? args.expected : args.inputs.empty() ? "" : args.inputs.back();
    std::ifstream in(file);
    if (!in) {
        printf("{\"correctq\": false, \"message\": \"no expected output\"}\n");
        return false;
    }
    int heads[2] = {0, 1};
    in >> heads[0];
    if (is_matrix) in >> heads[1];
    for (long i = 0; i < (long)rows * columns; i++) {
        double wanted = 0;
        in >> wanted;
        if (std::fabs(wanted - data[i]) > 0.005 * (1 + std::fabs(wanted))) {
            printf("The solution did not match the expected results at %ld: expecting %g but got %g.\n", i, wanted, (double)data[i]);
            return false;
        }
    }
    printf("The solution is correct\n");
    return true;
}
template <class T> inline bool wbSolution(const wbArg_t &args, const T *data, int n) { return grader_wb_solution(args, data, n, 1, false); }
template <class T> inline bool wbSolution(const wbArg_t &args, const T *data, int rows, int columns) { return grader_wb_solution(args, data, rows, columns, true); }
inline void grader_wb_print() { std::cout << std::endl; }
template <class T, class... R> inline void grader_wb_print(const T &first, const R &...rest) { std::cout << first; grader_wb_print(rest...); }
#define wbLog(level, ...) grader_wb_print(#level ": ", __VA_ARGS__)
#define wbTime_start(kind, ...) ((void)0)
#define wbTime_stop(kind, ...) ((void)0)
#define wbCheck(statement) do { cudaError_t wb_error = (statement); if (wb_error != cudaSuccess) { wbLog(ERROR, "Failed to run stmt ", #statement); wbLog(ERROR, "Got CUDA error ...  ", cudaGetErrorString(wb_error)); exit(-1); } } while (0)
#define wbAssert(x) assert(x)
