@{whole}@

#define A @{"\t" * 150000}@
@{" \n" * 150000}@
int y = 1;
