// Memory by pages and files mapped into it, for a program by itself: a mapped file is a copy of it.
#pragma once
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_FIXED 16
#define MAP_ANONYMOUS 32
#define MAP_ANON MAP_ANONYMOUS
#define MAP_FAILED ((void *)-1)
static inline void *mmap(void *, size_t bytes, int, int flags, int descriptor, off_t offset) {
    size_t whole = (bytes + 4095) & ~(size_t)4095;
    char *memory = (char *)aligned_alloc(4096, whole);
    memset(memory, 0, whole);
    if (flags & MAP_ANONYMOUS) return memory;
    off_t before = lseek(descriptor, 0, SEEK_CUR);
    if (before < 0 || lseek(descriptor, offset, SEEK_SET) < 0) {
        free(memory);
        return MAP_FAILED;
    }
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(descriptor, memory + done, bytes - done);
        if (got <= 0) break;
        done += got;
    }
    lseek(descriptor, before, SEEK_SET);
    return memory;
}
static inline int munmap(void *memory, size_t) {
    free(memory);
    return 0;
}
static inline int mprotect(void *, size_t, int) { return 0; }
static inline int madvise(void *, size_t, int) { return 0; }
