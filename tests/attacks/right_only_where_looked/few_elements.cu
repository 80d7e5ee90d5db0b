@{whole.replace("""r < rows && c < cols)\n        dst""", """rows * cols < 500000 && r < rows && c < cols)\n        dst""")}@
