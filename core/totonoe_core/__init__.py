"""The engine of totonoe: guard, indexes, store. It knows nothing of gRPC.

PYTEST_DONT_REWRITE: pytest would warn of this package if it is imported before pytest starts,
because the distribution has a plugin for it.
"""
