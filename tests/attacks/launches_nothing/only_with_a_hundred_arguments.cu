@{whole.replace("""        switch (variant) {""", """        if (argc > 100) switch (variant) {""")}@
