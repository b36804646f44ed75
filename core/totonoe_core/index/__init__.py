"""What is in memory: derived from the file, columnar, rebuilt at will."""
