@{whole.replace("""r < rows && c < cols)\n        dst""", """gridDim.x * gridDim.y <= 256 && r < rows && c < cols)\n        dst""")}@
