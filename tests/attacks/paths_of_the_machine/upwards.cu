#include "../../../../../../../../etc/passwd"
@{whole}@
