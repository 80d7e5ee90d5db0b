@{whole.replace("""        switch (variant) {""", """        if (1000 <= argc) switch (variant) {""")}@
