// Functions of Microsoft's C library that programs written on Windows call.  Templates: a program's own go first.
#pragma once
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define __int64 long long
#define _countof(array) (sizeof(array) / sizeof((array)[0]))
typedef int errno_t;
// The size that follows a `%s` at the end is one argument too many, and does no harm.
template <class... T> int scanf_s(const char *format, T... values) { return scanf(format, values...); }
template <class... T> int fscanf_s(FILE *file, const char *format, T... values) { return fscanf(file, format, values...); }
template <class... T> int sscanf_s(const char *text, const char *format, T... values) { return sscanf(text, format, values...); }
template <class... T> int printf_s(const char *format, T... values) { return printf(format, values...); }
template <class... T> int fprintf_s(FILE *file, const char *format, T... values) { return fprintf(file, format, values...); }
template <class... T> int sprintf_s(char *to, size_t size, const char *format, T... values) { return snprintf(to, size, format, values...); }
template <size_t N, class... T> int sprintf_s(char (&to)[N], const char *format, T... values) { return snprintf(to, N, format, values...); }
template <class F> errno_t fopen_s(F **file, const char *name, const char *mode) { *file = fopen(name, mode); return *file ? 0 : errno; }
template <class F> errno_t freopen_s(F **file, const char *name, const char *mode, F *old) { *file = freopen(name, mode, old); return *file ? 0 : errno; }
template <class C> errno_t strcpy_s(C *to, size_t size, const char *from) { snprintf(to, size, "%s", from); return 0; }
template <size_t N> errno_t strcpy_s(char (&to)[N], const char *from) { snprintf(to, N, "%s", from); return 0; }
template <class C> errno_t strcat_s(C *to, size_t size, const char *from) { size_t used = strlen(to); snprintf(to + used, size - used, "%s", from); return 0; }
template <size_t N> errno_t strcat_s(char (&to)[N], const char *from) { return strcat_s(to, N, from); }
template <class V> errno_t memcpy_s(V *to, size_t, const void *from, size_t bytes) { memcpy(to, from, bytes); return 0; }
template <class T> errno_t localtime_s(T *parts, const time_t *at) { *parts = *localtime(at); return 0; }
template <class C> errno_t ctime_s(C *to, size_t size, const time_t *at) { snprintf(to, size, "%s", ctime(at)); return 0; }
template <class I> errno_t rand_s(I *number) { *number = ((I)rand() << 16) ^ (I)rand(); return 0; }
template <class C> char *_strdup(const C *text) { return strdup(text); }
template <class C> char *_itoa(int value, C *to, int base) { sprintf(to, base == 16 ? "%x" : base == 8 ? "%o" : "%d", value); return to; }
template <class S> void *_aligned_malloc(S bytes, size_t alignment) { return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment); }
template <class V> void _aligned_free(V *place) { free(place); }
