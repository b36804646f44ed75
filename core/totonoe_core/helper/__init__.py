"""Helper processes, for what must not hold or crash the daemon: a model that embeds or judges."""
