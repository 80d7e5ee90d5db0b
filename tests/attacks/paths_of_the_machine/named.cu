#include "/etc/passwd"
@{whole}@
