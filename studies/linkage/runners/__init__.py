"""One linker in each file, run as a process: ``python -m studies.linkage.runners.NAME FOLDER``."""
