@{whole}@

int @{"a1" * 150000}@ = 1;
const int n = @{"9" * 200000}@;
