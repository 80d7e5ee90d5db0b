// What a harness calls a lab's function by: the grader says when, and with what, and looks at the arrays afterwards.
#pragma once
#define GRADER_CALL(name) extern "C" __attribute__((import_module("grader"), import_name(#name))) long long
GRADER_CALL(call_begins) grader_call_begins(void);
GRADER_CALL(call_argument) grader_call_argument(long long);
GRADER_CALL(call_named) grader_call_named(const char *);
GRADER_CALL(call_ends) grader_call_ends(void);
template <class T> static T grader_value(long long raw) {
    T value;
    __builtin_memcpy(&value, &raw, sizeof value);
    return value;
}
// A number, or a pointer to an array: by its place among the lab's parameters, or by its name there.
template <class T> static T grader_argument(int index) { return grader_value<T>(grader_call_argument(index)); }
template <class T> static T grader_argument(const char *name) { return grader_value<T>(grader_call_named(name)); }
