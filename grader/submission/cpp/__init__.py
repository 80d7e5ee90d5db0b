"""C++ as text: a file's tree, what stands at file level, what variables hold at a place.  Knows no kernel."""
