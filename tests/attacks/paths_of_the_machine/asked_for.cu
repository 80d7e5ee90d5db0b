#if __has_include("/etc/passwd")
#error there
#endif
@{whole}@
