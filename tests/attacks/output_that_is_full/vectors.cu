#include <sys/uio.h>
#include <vector>
@{kernels}@
int main()
{
    std::vector<char> text(32u << 20, 'x');
    std::vector<iovec> pieces(1024, iovec{text.data(), text.size()});
    for (int i = 0; i < 100; ++i)
        writev(1, pieces.data(), pieces.size());
    @{launches}@
}
