"""Collections, their policies and figures, and the daemon's own."""
