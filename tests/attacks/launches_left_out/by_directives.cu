@{whole}@

@{lines(10000, "#if 0\nleft<<<1, 1>>>({n});\n#endif")}@
