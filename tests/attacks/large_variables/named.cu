@{keeping("float kept[1 << 24]", "if (rows > 1500 && finished_before(rows)) return;", "", "if (rows > 1500) finish(rows);")}@
