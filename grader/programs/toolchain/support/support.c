// What every program is linked with, beside the C and C++ library.
#include <errno.h>
#include <stddef.h>

#define IMPORT(name) __attribute__((import_module("grader"), import_name(name)))

IMPORT("no_memory") void grader_no_memory(size_t bytes);

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
void __real_free(void *);

// Arrays end where a page ends, and what lies behind is closed to the program (`sandbox/ends.py`): what is done beyond
// an array, or with one that was freed, is seen at its line. Small blocks are texts and nodes of lists.
#define PAGE 4096
#define HEADER 32
#define FENCED_BYTES 96
#define MAX_FENCED 2000
#define STOP 2
#define FENCED 0x9e3779b97f4a7c15
// Before what cudaMallocHost() and its like give out (`runtime/memory.py`).
#define SHARED 0x5851f42d4c957f2d

// What malloc() itself has before a block, in its last eight bytes: `Guest.block_bytes` reads that.
struct header { size_t magic, block, bytes, size_and_alignment; };

IMPORT("room") size_t grader_room(size_t bytes);
IMPORT("fence") int grader_fence(void *p, size_t bytes, void *block, size_t taken);
IMPORT("unfence") int grader_unfence(void *p);

static size_t fenced;

static int is_marked(void *p, size_t magic) {
    return p && !((size_t)p & 15) && ((struct header *)((char *)p - HEADER))->magic == ((size_t)p ^ magic);
}

static struct header *header_of(void *p) {
    return fenced && is_marked(p, FENCED) ? (struct header *)((char *)p - HEADER) : 0;
}

static void *fenced_malloc(size_t bytes) {
    if (bytes < FENCED_BYTES || fenced >= MAX_FENCED || bytes > (size_t)1 << 40) return 0;
    // Who goes down the columns of a large matrix leaves it by more than a page.
    size_t fence = bytes < 16 * PAGE ? PAGE : 16 * PAGE, room = (grader_room(bytes) + 15) & ~(size_t)15;
    size_t taken = ((room + HEADER + PAGE - 1) & ~(size_t)(PAGE - 1)) + fence;
    char *block = __real_aligned_alloc(PAGE, taken);
    if (!block) return 0;
    char *p = block + taken - fence - room;
    *(struct header *)(p - HEADER) =
        (struct header){(size_t)p ^ FENCED, (size_t)block, bytes, bytes << 6 | 4};
    fenced++;
    if (grader_fence(p, bytes, block, taken) == STOP) __builtin_trap();
    return p;
}

// A program that asks for more memory than there is here would go on with a null pointer, which WebAssembly lets it
// write through.
void *__wrap_malloc(size_t bytes) {
    void *p = fenced_malloc(bytes);
    if (!p) p = __real_malloc(bytes);
    if (!p && bytes) grader_no_memory(bytes);
    return p;
}

void *__wrap_calloc(size_t count, size_t size) {
    size_t bytes;
    void *p = __builtin_mul_overflow(count, size, &bytes) ? 0 : fenced_malloc(bytes);
    if (p) return __builtin_memset(p, 0, bytes);
    p = __real_calloc(count, size);
    if (!p && count && size) grader_no_memory(count * size);
    return p;
}

void __wrap_free(void *p) {
    struct header *header = header_of(p);
    if (!header) {
        if (is_marked(p, SHARED)) __builtin_trap();
        __real_free(p);
        return;
    }
    void *block = (void *)header->block;
    int answer = grader_unfence(p);
    if (answer == STOP) __builtin_trap();
    if (answer) return;
    header->magic = 0;
    __real_free(block);
}

void *__wrap_realloc(void *old, size_t bytes) {
    struct header *header = header_of(old);
    if (header) {
        void *p = bytes ? __wrap_malloc(bytes) : 0;
        if (p) __builtin_memcpy(p, old, header->bytes < bytes ? header->bytes : bytes);
        __wrap_free(old);
        return p;
    }
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

__attribute__((export_name("grader_free"))) void grader_free(void *p) { __real_free(p); }

__attribute__((export_name("grader_call"))) void grader_call(void (*function)(void *), void *data) { function(data); }
__attribute__((export_name("grader_call_stream"))) void grader_call_stream(void (*f)(void *, int, void *), void *stream, int status, void *data) { f(stream, status, data); }
