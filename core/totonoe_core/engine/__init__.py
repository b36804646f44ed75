"""Order of decide, commit, publish, answer; and the seam above it."""
