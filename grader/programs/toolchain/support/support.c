// What every program is linked with, beside the C and C++ library.
#include <errno.h>
#include <stddef.h>

#define IMPORT(name) __attribute__((import_module("grader"), import_name(name)))

IMPORT("no_memory") void grader_no_memory(size_t bytes);

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);

// A program that asks for more memory than there is here would go on with a null pointer, which WebAssembly lets it
// write through.
void *__wrap_malloc(size_t bytes) {
    void *p = __real_malloc(bytes);
    if (!p && bytes) grader_no_memory(bytes);
    return p;
}

void *__wrap_calloc(size_t count, size_t size) {
    void *p = __real_calloc(count, size);
    if (!p && count && size) grader_no_memory(count * size);
    return p;
}

void *__wrap_realloc(void *old, size_t bytes) {
    void *p = __real_realloc(old, bytes);
    if (!p && bytes) grader_no_memory(bytes);
    return p;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    void *p = __real_aligned_alloc(alignment, bytes);
    if (!p && bytes) grader_no_memory(bytes);
    return p;
}

// For `std::filesystem`, which then copies a file as a stream.
long grader_no_sendfile(int to, int from, long long *offset, size_t count) {
    errno = EINVAL;
    return -1;
}

char *__cxa_demangle(const char *, char *, size_t *, int *);

__attribute__((export_name("grader_demangle"))) char *grader_demangle(const char *name) {
    int status;
    return __cxa_demangle(name, 0, 0, &status);
}

__attribute__((export_name("grader_malloc"))) void *grader_malloc(size_t bytes) { return __real_aligned_alloc(256, (bytes + 255) & ~(size_t)255); }

void free(void *);
__attribute__((export_name("grader_free"))) void grader_free(void *p) { free(p); }

__attribute__((export_name("grader_call"))) void grader_call(void (*function)(void *), void *data) { function(data); }
__attribute__((export_name("grader_call_stream"))) void grader_call_stream(void (*f)(void *, int, void *), void *stream, int status, void *data) { f(stream, status, data); }
