// Timers and command lines of the samples.
#pragma once
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
struct StopWatchInterface {
    std::chrono::steady_clock::time_point begin;
    double total = 0;
    bool running = false;
};
inline bool sdkCreateTimer(StopWatchInterface **t) { *t = new StopWatchInterface; return true; }
inline bool sdkDeleteTimer(StopWatchInterface **t) { delete *t; *t = 0; return true; }
inline bool sdkStartTimer(StopWatchInterface **t) { (*t)->begin = std::chrono::steady_clock::now(); (*t)->running = true; return true; }
inline bool sdkStopTimer(StopWatchInterface **t) {
    (*t)->total += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - (*t)->begin).count();
    (*t)->running = false;
    return true;
}
inline bool sdkResetTimer(StopWatchInterface **t) { (*t)->total = 0; return true; }
inline float sdkGetTimerValue(StopWatchInterface **t) { return (float)(*t)->total; }
inline float sdkGetAverageTimerValue(StopWatchInterface **t) { return (float)(*t)->total; }
inline const char *grader_flag(int argc, const char **argv, const char *name) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        while (*word == '-') word++;
        size_t n = strlen(name);
        if (!strncmp(word, name, n) && (word[n] == 0 || word[n] == '=')) return word + n + (word[n] == '=');
    }
    return 0;
}
inline bool checkCmdLineFlag(int argc, const char **argv, const char *name) { return grader_flag(argc, argv, name); }
inline int getCmdLineArgumentInt(int argc, const char **argv, const char *name) {
    const char *value = grader_flag(argc, argv, name);
    return value ? atoi(value) : 0;
}
