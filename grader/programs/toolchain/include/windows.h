// Of Windows what programs take times and write Russian texts with.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tchar.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#ifndef __int64
#define __int64 long long
#endif
#define WINAPI
#define CALLBACK
#define TRUE 1
#define FALSE 0
#define INFINITE 0xFFFFFFFFu
#define MAX_PATH 260
#define CP_UTF8 65001
#define STD_INPUT_HANDLE ((DWORD)-10)
#define STD_OUTPUT_HANDLE ((DWORD)-11)
#define STD_ERROR_HANDLE ((DWORD)-12)
#define FOREGROUND_BLUE 1
#define FOREGROUND_GREEN 2
#define FOREGROUND_RED 4
#define FOREGROUND_INTENSITY 8
typedef uint32_t DWORD, UINT, ULONG;
typedef uint64_t DWORD64, ULONGLONG, UINT64, DWORDLONG;
typedef int64_t LONGLONG, INT64;
typedef int32_t LONG, BOOL, INT, HRESULT;
typedef uint16_t WORD, USHORT;
typedef int16_t SHORT;
typedef uint8_t BYTE, UCHAR;
typedef float FLOAT;
typedef double DOUBLE;
typedef char CHAR, *LPSTR, *PCHAR;
typedef wchar_t WCHAR;
typedef const char *LPCSTR, *LPCTSTR;
typedef void VOID, *LPVOID, *PVOID, *HANDLE;
typedef DWORD *LPDWORD, *PDWORD;
typedef size_t SIZE_T;
typedef union { struct { DWORD LowPart; LONG HighPart; }; struct { DWORD LowPart; LONG HighPart; } u; LONGLONG QuadPart; } LARGE_INTEGER;
typedef union { struct { DWORD LowPart; DWORD HighPart; }; ULONGLONG QuadPart; } ULARGE_INTEGER;
typedef struct { WORD wYear, wMonth, wDayOfWeek, wDay, wHour, wMinute, wSecond, wMilliseconds; } SYSTEMTIME;
typedef struct { DWORD dwLowDateTime, dwHighDateTime; } FILETIME;
typedef struct { SHORT X, Y; } COORD;

inline uint64_t grader_nanoseconds() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
// As on today's Windows: ten million ticks a second.
inline BOOL QueryPerformanceFrequency(LARGE_INTEGER *frequency) { frequency->QuadPart = 10000000; return TRUE; }
inline BOOL QueryPerformanceCounter(LARGE_INTEGER *counter) { counter->QuadPart = grader_nanoseconds() / 100; return TRUE; }
inline DWORD GetTickCount() { return grader_nanoseconds() / 1000000; }
inline ULONGLONG GetTickCount64() { return grader_nanoseconds() / 1000000; }
inline DWORD timeGetTime() { return GetTickCount(); }
inline UINT timeBeginPeriod(UINT) { return 0; }
inline UINT timeEndPeriod(UINT) { return 0; }
inline void Sleep(DWORD milliseconds) { usleep(1000ull * milliseconds); }
inline void GetSystemTimeAsFileTime(FILETIME *time) {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t ticks = 116444736000000000ull + t.tv_sec * 10000000ull + t.tv_nsec / 100;
    time->dwLowDateTime = (DWORD)ticks;
    time->dwHighDateTime = (DWORD)(ticks >> 32);
}
inline void GetLocalTime(SYSTEMTIME *time) {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    struct tm *parts = gmtime(&t.tv_sec);
    *time = {(WORD)(parts->tm_year + 1900), (WORD)(parts->tm_mon + 1), (WORD)parts->tm_wday, (WORD)parts->tm_mday, (WORD)parts->tm_hour,
             (WORD)parts->tm_min, (WORD)parts->tm_sec, (WORD)(t.tv_nsec / 1000000)};
}
inline void GetSystemTime(SYSTEMTIME *time) { GetLocalTime(time); }
inline BOOL SetConsoleOutputCP(UINT) { return TRUE; }
inline BOOL SetConsoleCP(UINT) { return TRUE; }
inline BOOL SetConsoleTitleA(LPCSTR) { return TRUE; }
inline BOOL SetConsoleTitle(LPCSTR) { return TRUE; }
inline HANDLE GetStdHandle(DWORD which) { return (HANDLE)(uintptr_t)which; }
inline BOOL SetConsoleTextAttribute(HANDLE, WORD) { return TRUE; }
inline HANDLE GetCurrentProcess() { return (HANDLE)1; }
inline HANDLE GetCurrentThread() { return (HANDLE)2; }
inline BOOL SetPriorityClass(HANDLE, DWORD) { return TRUE; }
inline BOOL SetThreadPriority(HANDLE, int) { return TRUE; }
inline DWORD GetLastError() { return 0; }
#define ZeroMemory(place, bytes) memset((place), 0, (bytes))
#define CopyMemory(to, from, bytes) memcpy((to), (from), (bytes))
