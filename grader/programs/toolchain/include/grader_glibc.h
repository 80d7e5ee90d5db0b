// What glibc does on x86-64 and musl on WebAssembly does not: what printf() takes of arguments of other widths, and the
// numbers of rand().
#pragma once
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef __CUDA_ARCH__
// Arguments of printf() and its kin as x86-64 passes them: whole numbers and pointers in places of 8 bytes, of which a
// conversion reads as many as it names, and floating-point numbers in places of their own.  So a `long` printed by `%d`
// does no harm to what follows; here it would take two places of 4 bytes.
// The library's own: templates are looked at last of all here, and would find those below.
extern "C" int grader_c_fprintf(FILE *, const char *, ...) __asm__("fprintf");
extern "C" int grader_c_snprintf(char *, size_t, const char *, ...) __asm__("snprintf");
struct grader_arguments {
    const long long *whole;
    const double *real;
    int wholes, reals;
    long long next_whole() { return wholes-- > 0 ? *whole++ : 0; }
    double next_real() { return reals-- > 0 ? *real++ : 0; }
};
struct grader_output {
    FILE *file;
    char *to;
    size_t size;
    int total;
    template <class... T> void put(const char *conversion, T... value) {
        if (total < 0) return;
        size_t room = !file && (size_t)total < size ? size - total : 0;
        int count = file ? grader_c_fprintf(file, conversion, value...) : grader_c_snprintf(room ? to + total : nullptr, room, conversion, value...);
        total = count < 0 ? count : total + count;
    }
};
inline long long grader_narrowed(long long value, const char *length, bool is_signed) {
    if (*length && *length != 'h') return value;
    if (!strcmp(length, "hh")) return is_signed ? (signed char)value : (unsigned char)value;
    if (*length) return is_signed ? (short)value : (unsigned short)value;
    return is_signed ? (int)value : (long long)(unsigned)value;
}
inline int grader_print(grader_output output, const char *format, grader_arguments from) {
    if (output.size) *output.to = 0;
    while (*format) {
        size_t plain = strcspn(format, "%");
        if (plain) output.put("%.*s", (int)plain, format);
        format += plain;
        if (!*format) break;
        char conversion[128] = "%", length[4] = "";
        size_t at = 1;
        const char *started = format, *next = format + 1;
        for (; *next && strchr("-+ #0'123456789.*", *next) && at < 96; next++) {
            if (*next == '*')
                at += grader_c_snprintf(conversion + at, 16, "%d", (int)from.next_whole());
            else
                conversion[at++] = *next;
        }
        for (size_t n = 0; *next && strchr("hlLqjzt", *next); next++)
            if (n < 2) length[n++] = *next;
        char kind = *next;
        format = kind ? next + 1 : next;
        bool is_wide = *length == 'l' || kind == 'C' || kind == 'S';
        if (kind == 'd' || kind == 'i' || (kind && strchr("uoxX", kind))) {
            grader_c_snprintf(conversion + at, 4, "ll%c", kind);
            output.put(conversion, grader_narrowed(from.next_whole(), length, kind == 'd' || kind == 'i'));
        } else if (kind && strchr("aAeEfFgG", kind)) {
            conversion[at] = kind;
            output.put(conversion, from.next_real());
        } else if (kind == 'c' || kind == 'C') {
            grader_c_snprintf(conversion + at, 4, is_wide ? "lc" : "c");
            output.put(conversion, (int)from.next_whole());
        } else if (kind && strchr("sSp", kind)) {
            const void *pointer = (const void *)from.next_whole();
            bool is_nil = kind == 'p' && !pointer;
            grader_c_snprintf(conversion + at, 4, kind == 'p' && pointer ? "p" : is_wide ? "ls" : "s");
            output.put(conversion, is_nil ? "(nil)" : pointer);
        } else if (kind == 'n') {
            void *count = (void *)from.next_whole();
            int width = !strcmp(length, "hh") ? 1 : *length == 'h' ? 2 : *length ? 8 : 4;
            long long total = output.total;
            memcpy(count, &total, width);
        } else if (kind == 'm') {
            output.put("%s", strerror(errno));
        } else {
            // What is no conversion is printed as it stands.
            output.put("%.*s", kind == '%' ? 1 : (int)(format - started), started);
        }
    }
    return output.total;
}
template <bool> struct grader_if {};
template <> struct grader_if<true> { typedef int type; };
// What nvcc has its host compiler pass with no more than a promotion; the rest is the C function's business.
template <class... T> using grader_printed = typename grader_if<((sizeof...(T) > 0) && ... && (__is_scalar(T) && !__is_same(T, long double)))>::type;
template <class... T> int grader_print_values(grader_output output, const char *format, T... values) {
    long long whole[sizeof...(T)];
    double real[sizeof...(T)];
    grader_arguments from = {whole, real, 0, 0};
    auto keep = [&](auto value) {
        using V = decltype(value);
        if constexpr (__is_floating_point(V))
            real[from.reals++] = value;
        else if constexpr (__is_integral(V) || __is_enum(V))
            // The upper half of a register is 0 where an `int` was moved there.
            whole[from.wholes++] = sizeof(V) > 4 ? (long long)value : (long long)(unsigned)(int)value;
        else
            whole[from.wholes++] = (long long)(const volatile void *)value;
    };
    (keep(values), ...);
    return grader_print(output, format, from);
}
template <class... T> grader_printed<T...> printf(const char *format, T... values) { return grader_print_values({stdout, nullptr, 0, 0}, format, values...); }
template <class... T> grader_printed<T...> fprintf(FILE *file, const char *format, T... values) { return grader_print_values({file, nullptr, 0, 0}, format, values...); }
template <class... T> grader_printed<T...> sprintf(char *to, const char *format, T... values) { return grader_print_values({nullptr, to, INT_MAX, 0}, format, values...); }
template <class... T> grader_printed<T...> snprintf(char *to, size_t size, const char *format, T... values) { return grader_print_values({nullptr, to, size, 0}, format, values...); }
#endif
// rand(), random() and rand_r() in glibc's sequences; srand48() and its kin are POSIX's everywhere.
struct grader_additive_feedback {
    unsigned words[31];
    int at;
    bool seeded;
    // Of words that a linear congruence gives, each is the sum of those 31 and 3 before it; 310 are thrown away.
    void seed(unsigned number) {
        int word = number ? (int)number : 1;
        words[0] = (unsigned)word;
        for (int i = 1; i < 31; i++) {
            word = 16807 * (word % 127773) - 2836 * (word / 127773);
            if (word < 0) word += 2147483647;
            words[i] = (unsigned)word;
        }
        at = 3;
        seeded = true;
        for (int i = 0; i < 310; i++) take();
    }
    int take() {
        if (!seeded) seed(1);
        unsigned sum = words[at] += words[(at + 28) % 31];
        at = (at + 1) % 31;
        return (int)(sum >> 1);
    }
};
inline grader_additive_feedback grader_numbers;
extern "C" {
inline void srand(unsigned number) { grader_numbers.seed(number); }
inline int rand(void) { return grader_numbers.take(); }
inline void srandom(unsigned number) { grader_numbers.seed(number); }
inline long random(void) { return grader_numbers.take(); }
inline int rand_r(unsigned *state) {
    unsigned next = *state, bits = 0;
    for (int piece = 0; piece < 3; piece++) {
        next = next * 1103515245u + 12345u;
        bits = bits << (piece ? 10 : 0) ^ next / 65536 % (piece ? 1024 : 2048);
    }
    *state = next;
    return (int)bits;
}
}
