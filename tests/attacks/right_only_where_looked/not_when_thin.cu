@{whole.replace("""r < rows && c < cols)\n        dst""", """(cols < 3000 || rows > 8) && r < rows && c < cols)\n        dst""")}@
