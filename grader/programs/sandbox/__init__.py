"""The process that a program runs in: WebAssembly with limits, no files but those it is handed, no network."""
