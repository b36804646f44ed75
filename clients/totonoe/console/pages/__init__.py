"""Pages of the console, one module for each."""
