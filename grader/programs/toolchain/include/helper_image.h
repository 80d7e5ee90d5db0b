// Pictures (PPM and PGM, binary) and comparisons of the samples.
#pragma once
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>
#include "helper_string.h"
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
inline int grader_picture_number(FILE *file) {
    int c = fgetc(file), number = 0;
    while (c == '#' || isspace(c)) {
        if (c == '#') while (c != '\n' && c != EOF) c = fgetc(file);
        c = fgetc(file);
    }
    for (; c >= '0' && c <= '9'; c = fgetc(file)) number = 10 * number + c - '0';
    return number;
}
inline bool __loadPPM(const char *name, unsigned char **data, unsigned *w, unsigned *h, unsigned *channels) {
    FILE *file = fopen(name, "rb");
    if (!file) {
        std::cerr << "__LoadPPM() : Failed to open file: " << name << std::endl;
        return false;
    }
    int p = fgetc(file), kind = fgetc(file);
    *channels = p == 'P' && kind == '5' ? 1 : p == 'P' && kind == '6' ? 3 : 0;
    if (!*channels) {
        std::cerr << "__LoadPPM() : File is not a PPM or PGM image" << std::endl;
        fclose(file);
        return false;
    }
    unsigned width = grader_picture_number(file), height = grader_picture_number(file);
    grader_picture_number(file);
    size_t bytes = (size_t)width * height * *channels;
    if (!*data) *data = (unsigned char *)malloc(bytes);
    else if (*w != width || *h != height) std::cerr << "__LoadPPM() : Invalid image dimensions." << std::endl;
    *w = width;
    *h = height;
    bool whole = fread(*data, 1, bytes, file) == bytes;
    fclose(file);
    return whole;
}
inline bool __savePPM(const char *name, unsigned char *data, unsigned w, unsigned h, unsigned channels) {
    FILE *file = fopen(name, "wb");
    if (!file || (channels != 1 && channels != 3)) {
        std::cerr << "__savePPM() : Opening file failed." << std::endl;
        if (file) fclose(file);
        return false;
    }
    fprintf(file, "%s\n%u\n%u\n255\n", channels == 1 ? "P5" : "P6", w, h);
    fwrite(data, 1, (size_t)w * h * channels, file);
    fclose(file);
    return true;
}
inline bool sdkLoadPPM4ub(const char *name, unsigned char **data, unsigned *w, unsigned *h) {
    unsigned char *from = nullptr;
    unsigned channels;
    if (!__loadPPM(name, &from, w, h, &channels)) return false;
    size_t count = (size_t)*w * *h;
    *data = (unsigned char *)malloc(4 * count);
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < 4; c++) (*data)[4 * i + c] = c == 3 ? 0 : from[channels * i + (channels == 3 ? c : 0)];
    free(from);
    return true;
}
inline bool sdkSavePPM4ub(const char *name, unsigned char *data, unsigned w, unsigned h) {
    std::vector<unsigned char> rgb;
    for (size_t i = 0; i < (size_t)w * h; i++) rgb.insert(rgb.end(), data + 4 * i, data + 4 * i + 3);
    return __savePPM(name, rgb.data(), w, h, 3);
}
inline bool sdkSavePPM4(const char *name, unsigned char *data, unsigned w, unsigned h) { return sdkSavePPM4ub(name, data, w, h); }
template <class T> inline T grader_pixel(unsigned char v) { return sizeof(T) == 1 ? (T)v : (T)(v / 255.0f); }
template <class T> inline unsigned char grader_byte(T v) { return sizeof(T) == 1 ? (unsigned char)v : (unsigned char)(v * 255.0f); }
template <class T> inline bool sdkLoadPGM(const char *name, T **data, unsigned *w, unsigned *h) {
    unsigned char *from = nullptr;
    unsigned channels;
    if (!__loadPPM(name, &from, w, h, &channels)) return false;
    size_t count = (size_t)*w * *h * channels;
    if (!*data) *data = (T *)malloc(sizeof(T) * count);
    for (size_t i = 0; i < count; i++) (*data)[i] = grader_pixel<T>(from[i]);
    free(from);
    return true;
}
template <class T> inline bool sdkSavePGM(const char *name, T *data, unsigned w, unsigned h) {
    std::vector<unsigned char> bytes((size_t)w * h);
    for (size_t i = 0; i < bytes.size(); i++) bytes[i] = grader_byte(data[i]);
    return __savePPM(name, bytes.data(), w, h, 1);
}
template <class T> inline bool sdkReadFile(const char *name, T **data, unsigned *count, bool verbose) {
    std::ifstream in(name);
    if (!in) {
        if (verbose) std::cerr << "sdkReadFile() : Opening file failed." << std::endl;
        return false;
    }
    std::vector<T> values;
    for (T value; in >> value;) values.push_back(value);
    if (*data && *count != values.size()) std::cerr << "sdkReadFile() : Initialized memory given but size mismatch." << std::endl;
    if (!*data) *data = (T *)malloc(sizeof(T) * values.size());
    *count = (unsigned)values.size();
    memcpy(*data, values.data(), sizeof(T) * values.size());
    return true;
}
template <class T> inline bool sdkReadFileBlocks(const char *name, T **data, unsigned *count, unsigned block, unsigned size, bool) {
    FILE *file = fopen(name, "rb");
    if (!file) return false;
    *count = (unsigned)fread(&data[block][0], sizeof(T), size, file);
    fclose(file);
    return true;
}
template <class T, class S> inline bool sdkWriteFile(const char *name, const T *data, unsigned count, const S epsilon, bool verbose, bool append = false) {
    std::fstream out(name, append ? std::fstream::out | std::fstream::ate | std::fstream::app : std::fstream::out);
    if (!out) {
        if (verbose) std::cerr << "sdkWriteFile() : Opening file failed." << std::endl;
        return false;
    }
    out << "# " << epsilon << "\n";
    for (unsigned i = 0; i < count; i++) out << data[i] << ' ';
    out << std::endl;
    return (bool)out;
}
inline void sdkDumpBin(void *data, unsigned bytes, const char *name) {
    if (FILE *file = fopen(name, "wb")) {
        fwrite(data, bytes, 1, file);
        fclose(file);
    }
}
template <class T, class S> inline bool compareData(const T *reference, const T *data, unsigned count, const S epsilon, const float threshold) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; i++) {
        float difference = (float)reference[i] - (float)data[i];
        wrong += !(difference <= epsilon && difference >= -epsilon);
    }
    if (threshold == 0.0f) return wrong == 0;
    if (wrong) printf("%4.2f(%%) of bytes mismatched (count=%d)\n", (float)wrong * 100 / (float)count, wrong);
    return count * threshold > wrong;
}
template <class T, class S> inline bool compareDataAsFloatThreshold(const T *reference, const T *data, unsigned count, const S epsilon, const float threshold) {
    float least = MAX((float)epsilon, 0.0f);
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; i++) wrong += !(std::fabs((float)reference[i] - (float)data[i]) < least);
    if (threshold == 0.0f) return wrong == 0;
    if (wrong) printf("%4.2f(%%) of bytes mismatched (count=%d)\n", (float)wrong * 100 / (float)count, wrong);
    return count * threshold > wrong;
}
inline bool sdkCompareL2fe(const float *reference, const float *data, unsigned count, const float epsilon) {
    float error = 0, norm = 0;
    for (unsigned i = 0; i < count; i++) {
        float difference = reference[i] - data[i];
        error += difference * difference;
        norm += reference[i] * reference[i];
    }
    if (std::fabs(norm) < 1e-7f) {
        std::cerr << "ERROR, reference l2-norm is 0\n";
        return false;
    }
    return std::sqrt(error) / std::sqrt(norm) < epsilon;
}
inline bool grader_read(const char *name, size_t bytes, std::vector<unsigned char> &data) {
    FILE *file = fopen(name, "rb");
    if (!file) return false;
    data.resize(bytes);
    bool whole = fread(data.data(), 1, bytes, file) == bytes;
    fclose(file);
    return whole;
}
template <class T> inline bool compareBin2Bin(const char *name, const char *reference, unsigned count, const float epsilon, const float threshold, char *path) {
    char *at = path ? sdkFindFilePath(reference, path) : nullptr;
    std::vector<unsigned char> a, b;
    bool same = grader_read(name, count * sizeof(T), a) && at && grader_read(at, count * sizeof(T), b) && compareData<T, float>((T *)b.data(), (T *)a.data(), count, epsilon, threshold);
    free(at);
    return same;
}
inline bool compareBin2BinFloat(const char *n, const char *r, unsigned c, const float e, const float t, char *p) { return compareBin2Bin<float>(n, r, c, e, t, p); }
inline bool compareBin2BinUint(const char *n, const char *r, unsigned c, const float e, const float t, char *p) { return compareBin2Bin<unsigned>(n, r, c, e, t, p); }
inline bool sdkComparePPM(const char *name, const char *reference, const float epsilon, const float threshold, bool verbose) {
    unsigned char *a = nullptr, *b = nullptr;
    unsigned w, h, rw, rh;
    if (!sdkLoadPPM4ub(name, &a, &w, &h) || !sdkLoadPPM4ub(reference, &b, &rw, &rh)) return false;
    bool same = w == rw && h == rh && compareData(b, a, w * h * 4, epsilon, threshold);
    if (verbose) std::cout << (same ? "OK\n" : "FAILURE\n");
    free(a);
    free(b);
    return same;
}
inline bool sdkComparePGM(const char *name, const char *reference, const float epsilon, const float threshold, bool verbose) {
    unsigned char *a = nullptr, *b = nullptr;
    unsigned w, h, rw, rh;
    if (!sdkLoadPGM(name, &a, &w, &h) || !sdkLoadPGM(reference, &b, &rw, &rh)) return false;
    bool same = w == rw && h == rh && compareData(b, a, w * h, epsilon, threshold);
    if (verbose) std::cout << (same ? "OK\n" : "FAILURE\n");
    free(a);
    free(b);
    return same;
}
