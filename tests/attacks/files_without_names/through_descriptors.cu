#include <fcntl.h>
#include <cstdio>
#include <unistd.h>
#include <vector>
@{kernels}@
int main()
{
    std::vector<char> text(1u << 20, 'x');
    for (int i = 0; i < 200; ++i) {
        int file = open("a", O_CREAT | O_RDWR, 0600);
        for (int j = 0; j < 60; ++j)
            write(file, text.data(), text.size());
        unlink("a");
    }
    @{launches}@
}
