// Timers of the samples, in milliseconds.
#pragma once
#include <chrono>
class StopWatchInterface {
public:
    virtual ~StopWatchInterface() {}
    virtual void start() = 0;
    virtual void stop() = 0;
    virtual void reset() = 0;
    virtual float getTime() = 0;
    virtual float getAverageTime() = 0;
};
class StopWatchLinux : public StopWatchInterface {
public:
    void start() override { begin_ = std::chrono::steady_clock::now(); running_ = true; }
    void stop() override { last_ = since(); total_ += last_; running_ = false; sessions_++; }
    void reset() override { last_ = total_ = 0; sessions_ = 0; begin_ = std::chrono::steady_clock::now(); }
    float getTime() override { return total_ + (running_ ? since() : 0.0f); }
    float getAverageTime() override { return sessions_ ? total_ / sessions_ : 0.0f; }
private:
    float since() const { return std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begin_).count(); }
    std::chrono::steady_clock::time_point begin_;
    float last_ = 0, total_ = 0;
    int sessions_ = 0;
    bool running_ = false;
};
inline bool sdkCreateTimer(StopWatchInterface **t) { *t = new StopWatchLinux; return true; }
inline bool sdkDeleteTimer(StopWatchInterface **t) { if (*t) { delete *t; *t = nullptr; } return true; }
inline bool sdkStartTimer(StopWatchInterface **t) { if (*t) (*t)->start(); return true; }
inline bool sdkStopTimer(StopWatchInterface **t) { if (*t) (*t)->stop(); return true; }
inline bool sdkResetTimer(StopWatchInterface **t) { if (*t) (*t)->reset(); return true; }
inline float sdkGetTimerValue(StopWatchInterface **t) { return *t ? (*t)->getTime() : 0.0f; }
inline float sdkGetAverageTimerValue(StopWatchInterface **t) { return *t ? (*t)->getAverageTime() : 0.0f; }
