// glibc's reports of errors, as <error.h> has them.
#pragma once
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>
static unsigned int error_message_count;
static void (*error_print_progname)(void);
__attribute__((__format__(__printf__, 5, 0)))
static inline void grader_error(int status, int number, const char *file, unsigned line, const char *format, va_list arguments) {
    fflush(stdout);
    if (error_print_progname) error_print_progname();
    else {
        size_t count = 0, bytes = 0;
        __wasi_args_sizes_get(&count, &bytes);
        char **words = (char **)calloc(count + 1, sizeof *words), *text = (char *)calloc(bytes + 1, 1);
        __wasi_args_get((uint8_t **)words, (uint8_t *)text);
        fprintf(stderr, file ? "%s:" : "%s: ", count ? words[0] : "");
        free(words);
        free(text);
    }
    if (file) fprintf(stderr, "%s:%u: ", file, line);
    vfprintf(stderr, format, arguments);
    if (number) fprintf(stderr, ": %s", strerror(number));
    fputc('\n', stderr);
    error_message_count++;
    if (status) exit(status);
}
__attribute__((__format__(__printf__, 3, 4)))
static inline void error(int status, int number, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    grader_error(status, number, 0, 0, format, arguments);
    va_end(arguments);
}
__attribute__((__format__(__printf__, 5, 6)))
static inline void error_at_line(int status, int number, const char *file, unsigned line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    grader_error(status, number, file, line, format, arguments);
    va_end(arguments);
}
