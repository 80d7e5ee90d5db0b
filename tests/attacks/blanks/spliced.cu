@{whole}@

#define B 1 @{"\\\n" * 100000}@
int y = 1;
