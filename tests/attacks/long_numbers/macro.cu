// #define N @{"9" * 4301}@
/* const int N = @{"9" * 4301}@; */
@{whole}@
