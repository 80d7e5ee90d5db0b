@{whole}@

#if 0
@{lines(20000, "left{n}<<<grid, block>>>(a, b, 1);")}@
#endif
