// Command lines of the samples: `-name`, `--name` or `/name`, with `=value` behind; and where their files are looked for.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <strings.h>
#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
#define FOPEN(handle, name, mode) (handle = fopen(name, mode))
#define FOPEN_FAIL(handle) (handle == NULL)
#define SSCANF sscanf
#define SPRINTF sprintf
#define STRCASECMP strcasecmp
#define STRNCASECMP strncasecmp
#define STRCPY(to, size, from) strcpy(to, from)
// Behind the name: "" without a value, null where the flag is not there.
inline const char *grader_flag(int argc, const char **argv, const char *name) {
    size_t n = strlen(name);
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        while (*word == '-') word++;
        if (!strncasecmp(word, name, n) && (word[n] == 0 || word[n] == '=')) return word + n + (word[n] == '=');
    }
    return nullptr;
}
inline int stringRemoveDelimiter(char delimiter, const char *string) {
    int n = 0;
    while (string[n] == delimiter) n++;
    return n >= (int)strlen(string) - 1 ? 0 : n;
}
inline int getFileExtension(char *name, char **extension) {
    char *dot = strrchr(name, '.');
    *extension = dot ? dot + 1 : name + strlen(name);
    return (int)(*extension - name);
}
inline bool checkCmdLineFlag(int argc, const char **argv, const char *name) { return grader_flag(argc, argv, name) != nullptr; }
template <class T> inline bool getCmdLineArgumentValue(int argc, const char **argv, const char *name, T *value) {
    const char *text = grader_flag(argc, argv, name);
    if (text && *text) *value = (T)atoi(text);
    return text != nullptr;
}
inline int getCmdLineArgumentInt(int argc, const char **argv, const char *name) {
    const char *text = grader_flag(argc, argv, name);
    return text ? atoi(text) : 0;
}
inline float getCmdLineArgumentFloat(int argc, const char **argv, const char *name) {
    const char *text = grader_flag(argc, argv, name);
    return text ? (float)atof(text) : 0.0f;
}
inline bool getCmdLineArgumentString(int argc, const char **argv, const char *name, char **value) {
    *value = (char *)grader_flag(argc, argv, name);
    return *value != nullptr;
}
inline char *sdkFindFilePath(const char *name, const char *) {
    for (const char *folder : {"./", "./data/", "../", "../data/", "../../data/", "../../../data/"}) {
        std::string path = std::string(folder) + name;
        if (FILE *file = fopen(path.c_str(), "rb")) {
            fclose(file);
            return strdup(path.c_str());
        }
    }
    printf("\nerror: sdkFindFilePath: file <%s> not found!\n", name);
    return nullptr;
}
