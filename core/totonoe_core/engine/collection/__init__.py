"""One open collection: its calls, its vectors and the work between calls."""
