struct point { int x, y; };
#ifdef __cplusplus
extern "C"
#endif
void twice(int *p, int n);
