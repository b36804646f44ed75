"""`totonoe demo`: several agent processes, one daemon, one conversation."""
