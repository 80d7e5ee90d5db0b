// What Visual Studio puts at the beginning of a new project.
#pragma once
#include <stdio.h>
#include <tchar.h>
