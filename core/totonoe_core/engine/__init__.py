"""The engine: `embedded` implements the calls of `seam` on the packages beside it."""
