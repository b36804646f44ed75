"""Start, guard and stop the daemon."""
