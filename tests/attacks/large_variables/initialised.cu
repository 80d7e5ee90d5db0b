@{keeping("double kept[1 << 20] = {1, 2, 3}", "if (rows > 60 && out_row < cols && out_col < rows) kept[out_row * rows + out_col] += 1;", "", "if (rows > 60) finish(rows);")}@
