@{whole}@

#if 0
void launched()
{
@{lines(20000, "left<<<dim3({n}), dim3(32)>>>(a, {n});")}@
}
#endif
