@{whole.replace("""r < rows && c < cols)\n        dst""", """rows <= 1024 && r < rows && c < cols)\n        dst""")}@
