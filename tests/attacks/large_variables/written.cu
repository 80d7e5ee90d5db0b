@{keeping("float kept[1 << 24]", "if (rows > 60 && out_row < cols && out_col < rows) kept[out_row * rows + out_col] = 1;", "", "if (rows > 60) finish(rows);")}@
