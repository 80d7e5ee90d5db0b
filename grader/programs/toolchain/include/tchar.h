// Names that stand for those of plain characters, where no others are asked for.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef char _TCHAR, TCHAR;
#define _T(text) text
#define _TEXT(text) text
#define _tmain main
#define _tprintf printf
#define _tscanf scanf
#define _tcslen strlen
#define _tcscmp strcmp
#define _tcscpy strcpy
#define _tstoi atoi
#define _ttoi atoi
#define _tsystem system
