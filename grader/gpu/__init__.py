"""The GPU: `device` runs in its process, `host` asks it, `measurement` and `profilers` use both."""
