#pragma once
// Part of what Visual Studio's headers include; its editor adds it to programs by itself.
#include <stddef.h>
