"""`totonoe top`: a live view of a daemon."""
