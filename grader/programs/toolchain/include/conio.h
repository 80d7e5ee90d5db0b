// The keyboard of a Windows console, as far as programs wait at it: what is typed is what standard input has.
#pragma once
#include <stdio.h>
inline int _getch() { return getchar(); }
inline int _getche() { return getchar(); }
inline int getch() { return getchar(); }
inline int getche() { return getchar(); }
inline int _kbhit() { return 1; }
inline int kbhit() { return 1; }
inline int _putch(int c) { return putchar(c); }
inline int putch(int c) { return putchar(c); }
inline int _cputs(const char *text) { return fputs(text, stdout); }
#define _cprintf printf
