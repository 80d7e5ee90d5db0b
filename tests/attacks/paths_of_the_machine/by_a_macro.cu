#define FILE_NAME </etc/passwd>
#include FILE_NAME
@{whole}@
